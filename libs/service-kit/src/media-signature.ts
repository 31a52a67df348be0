import { createHmac, timingSafeEqual } from 'node:crypto';

/** What a signed media URL opens: one stream, until a moment. */
export interface MediaPath {
  readonly kind: 'live' | 'history';
  /** Canonical terminal number; leading zeros are removed here as well. */
  readonly imei: string;
  readonly channel: number;
}

/** How a signed media path was judged. */
export type MediaPathVerdict = 'valid' | 'missing' | 'expired' | 'invalid';

const withoutLeadingZeros = (imei: string): string => imei.replace(/^0+(?=.)/, '');

const signatureOf = (secret: string, path: MediaPath, expires: string): Buffer =>
  createHmac('sha256', secret)
    .update(`${path.kind}/${withoutLeadingZeros(path.imei)}/${path.channel}/${expires}`)
    .digest();

/**
 * The URL of a stream on a media pod, open for `lifetimeMs` from now; `query` (audio, hevc) is not signed. An open response outlives its URL.
 */
export function signMediaPath(
  secret: string,
  path: MediaPath & {
    readonly baseUrl: string;
    readonly lifetimeMs: number;
    readonly query?: Readonly<Record<string, string | undefined>>;
  },
): string {
  const expires = String(Math.ceil((Date.now() + path.lifetimeMs) / 1000));
  const url = `${path.baseUrl.replace(/\/$/, '')}/${path.kind}/${withoutLeadingZeros(path.imei)}_${path.channel}.flv`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(path.query ?? {})) if (value !== undefined) query.set(name, value);
  query.set('expires', expires);
  query.set('signature', signatureOf(secret, path, expires).toString('hex'));
  return `${url}?${query.toString()}`;
}

/** Judges `expires` (Unix seconds) and `signature` (hex) of a media URL, in constant time for every signature of the right length. */
export function verifyMediaPath(
  secret: string,
  path: MediaPath,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs = Date.now(),
): MediaPathVerdict {
  const { expires, signature } = query;
  if (expires === undefined || signature === undefined) return 'missing';
  if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires)) return 'invalid';
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/i.test(signature)) return 'invalid';
  if (!timingSafeEqual(signatureOf(secret, path, expires), Buffer.from(signature, 'hex'))) return 'invalid';
  return Number(expires) * 1000 > nowMs ? 'valid' : 'expired';
}
