import { AppError, hourMs, signQuery, verifyQuery } from '@fleet/service-kit';
import type { Config } from '../../assembly/config.ts';
import type { FileQuery } from './schema.ts';

/** Lifetime of URLs of media and downloads (docs/reference/video.md). */
const urlLifetimeMs = 8 * hourMs;

type UrlDeps = { readonly config: Pick<Config, 'PUBLIC_BASE_URL' | 'CLIPS_SIGNING_SECRET'> };

/** Holder of a URL: a user, or an API key without a user. */
export interface UrlHolder {
  readonly kind: 'user' | 'key';
  readonly id: number;
}

const signedText = (id: number, user: string): string => `dashcam-media/${id}/${user}`;

const keyPrefix = 'key-';
const formatHolder = ({ kind, id }: UrlHolder): string => (kind === 'key' ? `${keyPrefix}${id}` : String(id));

/** Returns the URL of a file for one user. The user must still be allowed to see the file when the URL is opened. */
export const createMediaUrl = (deps: UrlDeps, id: number, userId: number): string =>
  createHolderUrl(deps, id, { kind: 'user', id: userId });

function createHolderUrl({ config }: UrlDeps, id: number, holder: UrlHolder): string {
  const user = formatHolder(holder);
  const query = new URLSearchParams({
    user,
    ...signQuery(config.CLIPS_SIGNING_SECRET, signedText(id, user), urlLifetimeMs),
  });
  return `${config.PUBLIC_BASE_URL}/api/dashcam-media/${id}/file?${query.toString()}`;
}

/** Returns the holder of a URL; throws 401 or 403 if it was not created here or has expired. */
export function verifyMediaUrl({ config }: UrlDeps, id: number, query: FileQuery): UrlHolder {
  const { user = '' } = query;
  const verdict = verifyQuery(config.CLIPS_SIGNING_SECRET, signedText(id, user), query, Date.now());
  if (verdict === 'missing') throw new AppError('signature_invalid', 'The URL of the file is not signed.');
  if (verdict === 'expired') throw new AppError('permission_denied', 'The URL has expired. Request the record again.');
  if (verdict === 'invalid') throw new AppError('permission_denied', 'The signature of the URL is not valid.');
  return user.startsWith(keyPrefix)
    ? { kind: 'key', id: Number(user.slice(keyPrefix.length)) }
    : { kind: 'user', id: Number(user) };
}

/** Returns a function that creates the URLs of files for one user. */
export const mediaUrlBuilder =
  (deps: UrlDeps, userId: number) =>
  (id: number): string =>
    createMediaUrl(deps, id, userId);

/** Returns a function that creates the URLs of files for one user, or for an API key. */
export const holderUrlBuilder =
  (deps: UrlDeps, holder: UrlHolder) =>
  (id: number): string =>
    createHolderUrl(deps, id, holder);
