import { type Logger, pino } from 'pino';

export type { Logger } from 'pino';

// Names under which a secret could reach a log line.
const secretPaths = [
  'apiKey',
  'authCode',
  'password',
  'secret',
  'token',
  '*.apiKey',
  '*.authCode',
  '*.password',
  '*.secret',
  '*.token',
  'headers["x-api-key"]',
  'headers.authorization',
];

/** The logger of a service: JSON lines on standard output, secrets removed by name. */
export function createLogger(service: string, level: string): Logger {
  return pino({ level, base: { service }, redact: { paths: secretPaths, censor: '***' } });
}

/** A URL as it may be logged: without the values of `token` and `signature`. */
export const shownUrl = (url: string): string => url.replace(/([?&](?:token|signature)=)[^&]*/g, '$1***');
