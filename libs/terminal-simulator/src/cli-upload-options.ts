import type { UploadFault, UploadOptions } from './uploads/upload-options.ts';
import { UsageError } from './usage-error.ts';

/** Command-line options for uploads, in the form that `parseArgs` requires. */
export const uploadOptionDefinitions = {
  'upload-speed': { type: 'string' },
  'upload-resume': { type: 'string' },
  'upload-retries': { type: 'string' },
  'upload-retry': { type: 'string' },
  'upload-files': { type: 'string' },
  'upload-directory': { type: 'string' },
  'upload-mode': { type: 'string' },
  'upload-tls': { type: 'boolean' },
  'upload-pause': { type: 'string' },
  'upload-break': { type: 'string', multiple: true },
  'upload-notice': { type: 'string' },
  'upload-no-quit': { type: 'boolean' },
} as const;

/** Section of --help about uploads. */
export const uploadHelp = `uploads (fleet and terminal):
  --upload-speed N    bytes per second (no limit)             --upload-mode      pasv, epsv, port or eprt
  --upload-resume     append, restart (REST) or fromZero      --upload-tls       explicit TLS
  --upload-retries N  after a broken transfer (10)            --upload-retry T   delay before each (1s)
  --upload-files      one, or perRecording                    --upload-directory DIR  created below the given path
  --upload-pause      close, reset or hold                    --upload-no-quit   close without QUIT
  --upload-notice     0x1206: truth, success, failure, never or early
  --upload-break H@B  fault after B bytes of an attempt, H: reset, finish, controlLost, silent;
                      H@BxN affects N attempts; repeatable`;

/** Values of these options as given on the command line. */
type UploadValues = {
  [K in keyof typeof uploadOptionDefinitions]?: string | boolean | string[] | undefined;
};

function parseChoice<T extends string>(
  values: UploadValues,
  name: keyof UploadValues,
  allowed: readonly T[],
): T | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = allowed.find((candidate) => candidate === text);
  if (value === undefined) throw new UsageError(`--${name} "${String(text)}" is not one of ${allowed.join(', ')}`);
  return value;
}

function parseInteger(values: UploadValues, name: keyof UploadValues, min: number): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < min) {
    throw new UsageError(`--${name} "${String(text)}" is not an integer of at least ${min}`);
  }
  return value;
}

function parseFault(text: string): UploadFault {
  const match = /^(reset|finish|controlLost|silent)@(\d+)(?:x(\d+))?$/.exec(text);
  if (match === null)
    throw new UsageError(`--upload-break "${text}" is not a fault such as reset@100000 or finish@5000x3`);
  const [, how, afterBytes, times = '1'] = match;
  return { how: how as UploadFault['how'], afterBytes: Number(afterBytes), times: Number(times) };
}

/** Returns the upload options of the terminals; `retryMs` is the parsed --upload-retry. Throws UsageError. */
export function parseUploadOptions(values: UploadValues, retryMs: number | undefined): UploadOptions {
  const faults = values['upload-break'];
  const directory = values['upload-directory'];
  return {
    uploadBytesPerSecond: parseInteger(values, 'upload-speed', 1),
    uploadResume: parseChoice(values, 'upload-resume', ['append', 'restart', 'fromZero']),
    uploadRetries: parseInteger(values, 'upload-retries', 0),
    uploadRetryMs: retryMs,
    uploadFiles: parseChoice(values, 'upload-files', ['one', 'perRecording']),
    uploadDirectory: typeof directory === 'string' ? directory : undefined,
    uploadDataMode: parseChoice(values, 'upload-mode', ['pasv', 'epsv', 'port', 'eprt']),
    uploadTls: values['upload-tls'] === true,
    uploadPause: parseChoice(values, 'upload-pause', ['close', 'reset', 'hold']),
    uploadFaults: Array.isArray(faults) ? faults.map(parseFault) : [],
    uploadNotice: parseChoice(values, 'upload-notice', ['truth', 'success', 'failure', 'never', 'early']),
    uploadQuits: values['upload-no-quit'] !== true,
  };
}
