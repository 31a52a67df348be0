import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** Returns the version in `If-Match`, `"7"` as in an ETag; undefined without the header, when the last write wins. */
export function parseIfMatch(context: Pick<RequestContext, 'request'>): number | undefined {
  const header = context.request.get('if-match');
  if (header === undefined || header === '*') return undefined;
  const version = /^"?([1-9]\d{0,14})"?$/.exec(header)?.[1];
  if (version === undefined)
    throw new AppError('validation_failed', 'The header If-Match must be a version in quotation marks, such as "7".');
  return Number(version);
}

/** Added to a route's `errors` to honour `If-Match`, which the document then lists as a header. */
export const versionMismatchErrors = { 412: '`If-Match` does not match the current version.' } as const;

/** Throws 412 if a record has another version than requested. For steps before the write that checks it finally. */
export function assertVersion({ version }: { readonly version: number }, expected: number | undefined): void {
  if (expected !== undefined && version !== expected) throw versionMismatch(version);
}

/** Returns the error of a change to an outdated version. */
export const versionMismatch = (version: number): AppError =>
  new AppError('version_mismatch', `The record has been changed: its version is ${version} now.`, {
    headers: { ETag: `"${version}"` },
  });
