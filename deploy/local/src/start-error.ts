/** Describes a failed start: one sentence that says what to do, and the last lines of a log, if any. */
export class StartError extends Error {
  override readonly name = 'StartError';
  readonly details: string;

  constructor(message: string, details = '', options: ErrorOptions = {}) {
    super(message, options);
    this.details = details;
  }
}

/** Formats a StartError as its sentence; anything else is a bug and keeps its stack. */
export function describeError(error: unknown): string {
  if (error instanceof StartError) return error.details === '' ? error.message : `${error.message}\n${error.details}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** Returns the code of a system error (`ENOENT`, `EADDRINUSE` …), if it is one. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
