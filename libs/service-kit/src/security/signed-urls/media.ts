import { type SignatureVerdict, signQuery, verifyQuery } from './query.ts';

/** Content of a signed media URL: one stream, with an expiry. */
interface MediaPath {
  readonly kind: 'live' | 'history' | 'talk';
  /** Canonical terminal number; leading zeros are removed here as well. */
  readonly imei: string;
  readonly channel: number;
}

/** Result of the verification of a signed media path. */
type MediaPathVerdict = SignatureVerdict;

const withoutLeadingZeros = (imei: string): string => imei.replace(/^0+(?=.)/, '');

const signedText = (path: MediaPath): string => `${path.kind}/${withoutLeadingZeros(path.imei)}/${path.channel}`;

/** End of a stream's path: FLV, fragmented MP4, the HLS playlist and its files, or none for talk. */
export type MediaPathSuffix = '.flv' | '.mp4' | `/${string}` | '';

/**
 * Returns the URL of a stream on a media pod, valid for `lifetimeMs`; `query` (audio, hevc) and `suffix` (default .flv)
 * are not signed. An open response outlives its URL.
 */
export function signMediaPath(
  secret: string,
  path: MediaPath & {
    readonly baseUrl: string;
    readonly lifetimeMs: number;
    readonly suffix?: MediaPathSuffix;
    readonly query?: Readonly<Record<string, string | undefined>>;
  },
): string {
  const { baseUrl, kind, imei, channel, suffix = '.flv' } = path;
  const url = `${baseUrl.replace(/\/$/, '')}/${kind}/${withoutLeadingZeros(imei)}_${channel}${suffix}`;
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(path.query ?? {})) if (value !== undefined) query.set(name, value);
  const { expires, signature } = signQuery(secret, signedText(path), path.lifetimeMs);
  query.set('expires', expires);
  query.set('signature', signature);
  return `${url}?${query.toString()}`;
}

/**
 * Verifies `expires` (Unix seconds) and `signature` (hex) of a media URL, in constant time for signatures of the right
 * length.
 */
export const verifyMediaPath = (
  secret: string,
  path: MediaPath,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs = Date.now(),
): MediaPathVerdict => verifyQuery(secret, signedText(path), query, nowMs);
