import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** The version that `If-Match` names, `"7"` as in an ETag; undefined without the header, when the last write of a field wins. */
export function parseIfMatch(context: Pick<RequestContext, 'request'>): number | undefined {
  const header = context.request.get('if-match');
  if (header === undefined || header === '*') return undefined;
  const version = /^"?([1-9]\d{0,14})"?$/.exec(header)?.[1];
  if (version === undefined)
    throw new AppError('validation_failed', 'The header If-Match must be a version in quotation marks, such as "7".');
  return Number(version);
}

/** What a route adds to its `errors` to honour `If-Match`, which its document then has as a header. */
export const versionMismatchErrors = { 412: 'The record has another version than `If-Match` names.' } as const;

/** 412 where a record has another version than the caller asks for. For what is done before the write that checks it for good. */
export function assertVersion({ version }: { readonly version: number }, expected: number | undefined): void {
  if (expected !== undefined && version !== expected) throw versionMismatch(version);
}

/** The refusal of a change to a version that is not there any more. */
export const versionMismatch = (version: number): AppError =>
  new AppError('version_mismatch', `The record has been changed: its version is ${version} now.`, {
    headers: { ETag: `"${version}"` },
  });
