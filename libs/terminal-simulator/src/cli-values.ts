import { alarmOptionDefinitions } from './cli-alarm-options.ts';
import { uploadOptionDefinitions } from './cli-upload-options.ts';
import { UsageError } from './usage-error.ts';

/** All options, in the form that `parseArgs` requires. */
export const optionDefinitions = {
  help: { type: 'boolean', short: 'h' },
  host: { type: 'string' },
  port: { type: 'string' },
  terminals: { type: 'string' },
  channels: { type: 'string' },
  phones: { type: 'string' },
  phone: { type: 'string' },
  edition: { type: 'string' },
  interval: { type: 'string' },
  video: { type: 'string' },
  audio: { type: 'string' },
  'media-host': { type: 'string' },
  recordings: { type: 'string' },
  'cache-dir': { type: 'string' },
  'report-file': { type: 'string' },
  'control-port': { type: 'string' },
  track: { type: 'string' },
  behaviour: { type: 'string' },
  delay: { type: 'string' },
  result: { type: 'string' },
  'wake-after': { type: 'string' },
  'wake-time': { type: 'string' },
  'catch-up': { type: 'boolean' },
  'list-chunk': { type: 'string' },
  'connect-rate': { type: 'string' },
  'first-phone': { type: 'string' },
  ...uploadOptionDefinitions,
  ...alarmOptionDefinitions,
} as const;

type Names = typeof optionDefinitions;
type TextName = {
  [K in keyof Names]: Names[K] extends { type: 'string'; multiple?: never } ? K : never;
}[keyof Names];
/** Values of the options as given on the command line. */
export type Values = { [K in TextName]?: string | undefined } & {
  'catch-up'?: boolean | undefined;
  'upload-tls'?: boolean | undefined;
  'upload-no-quit'?: boolean | undefined;
  'upload-break'?: string[] | undefined;
};

/** Parses a duration such as 500ms, 30s or 2m. */
export function parseDurationMs(text: string, name: string): number {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(text);
  if (match === null) throw new UsageError(`--${name} "${text}" is not a duration such as 500ms, 30s or 2m`);
  const unit = { ms: 1, s: 1000, m: 60_000 }[match[2] as 'ms' | 's' | 'm'];
  return Number(match[1]) * unit;
}

export function parseInteger(
  values: Values,
  name: TextName,
  fallback: number,
  [min, max]: readonly [number, number],
): number {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min || value > max) {
    throw new UsageError(`--${name} "${text}" is not an integer from ${min} to ${max}`);
  }
  return value;
}

export function parseChoice<T extends string>(values: Values, name: TextName, fallback: T, allowed: readonly T[]): T {
  const text = values[name];
  if (text === undefined) return fallback;
  const value = allowed.find((candidate) => candidate === text);
  if (value === undefined) throw new UsageError(`--${name} "${text}" is not one of ${allowed.join(', ')}`);
  return value;
}

export function parseDuration(values: Values, name: TextName, fallbackMs: number): number {
  const text = values[name];
  return text === undefined ? fallbackMs : parseDurationMs(text, name);
}

export function parsePhone(text: string): string {
  if (!/^\d{12}$|^\d{20}$/.test(text)) throw new UsageError(`terminal number "${text}" must have 12 or 20 digits`);
  return text;
}
