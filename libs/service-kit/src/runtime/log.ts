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

const isLevel = (level: string): boolean => level === 'silent' || Object.hasOwn(pino.levels.values, level);

/**
 * The logger of a service: JSON lines on standard output, secrets removed by name. A level that does not exist logs as `info`, so that the check of the
 * configuration, which comes after, can say so.
 */
export function createLogger(service: string, level: string | undefined): Logger {
  const knownLevel = level !== undefined && isLevel(level) ? level : 'info';
  return pino({ level: knownLevel, base: { service }, redact: { paths: secretPaths, censor: '***' } });
}

/** A URL as it may be logged: without the values of `token` and `signature`. */
export const redactUrl = (url: string): string => url.replace(/([?&](?:token|signature)=)[^&]*/g, '$1***');
