import { type Logger, pino } from 'pino';
import { tracer } from '../tracing/active-tracer.ts';
import { isTracingEnabled } from '../tracing/tracing-settings.ts';

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
 * Creates the logger of a service: JSON lines on standard output, without secrets by name. An unknown level logs as
 * `info`, so that the later check of the configuration can report it. While tracing is on, lines have the ids of the
 * active span.
 */
export function createLogger(service: string, level: string | undefined): Logger {
  const knownLevel = level !== undefined && isLevel(level) ? level : 'info';
  return pino({
    level: knownLevel,
    base: { service },
    redact: { paths: secretPaths, censor: '***' },
    ...(isTracingEnabled(process.env) ? { mixin: () => tracer?.logFields() ?? {} } : {}),
  });
}

/** Returns a URL for logs, without the values of `token` and `signature`. */
export const redactUrl = (url: string): string => url.replace(/([?&](?:token|signature)=)[^&]*/g, '$1***');
