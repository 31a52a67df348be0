import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** The version that `If-Match` names, `"7"` as in an ETag; undefined without the header, when the last write of a field wins. */
export function expectedVersion(context: Pick<RequestContext, 'request'>): number | undefined {
  const given = context.request.get('if-match');
  if (given === undefined || given === '*') return undefined;
  const version = /^"?([1-9]\d{0,14})"?$/.exec(given)?.[1];
  if (version === undefined)
    throw new AppError('validation_failed', 'The header If-Match must be a version in quotation marks, such as "7".');
  return Number(version);
}

/** The refusal of a change to a version that is not there any more. */
export const versionMismatch = (version: number): AppError =>
  new AppError('version_mismatch', `The record has been changed: its version is ${version} now.`, {
    headers: { ETag: `"${version}"` },
  });
