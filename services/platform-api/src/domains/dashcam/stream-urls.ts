import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Caller } from '../../access/caller.ts';
import type { StreamResponse } from './schema.ts';

/** Addresses of one stream, by the kind of player. */
export type StreamAddresses = Pick<StreamResponse, 'stream_url' | 'ws_flv_url' | 'hls_url'>;

/** The same for one user, with a token. */
export type StreamUrls = StreamAddresses & Pick<StreamResponse, 'token_expires_at'>;

/** A live stream; its number is canonical. */
export interface LiveStream {
  readonly imei: string;
  readonly channel: number;
  /** True if the user chose the main stream. */
  readonly isMainStream?: boolean;
}

/** Dependencies of the URLs. */
export interface StreamUrlDeps {
  readonly config: { readonly VIDEO_BASE_URL: string };
  readonly streamTokens: StreamTokens;
}

/** User for whom URLs are created. */
export type StreamUser = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId'>;

/** Returns the addresses of a live stream. Paths have the 12- or 20-digit form of a number. */
export function getStreamAddresses(
  videoBaseUrl: string,
  { imei, channel }: LiveStream,
  token?: string,
): StreamAddresses {
  const number = imei.padStart(imei.length > 12 ? 20 : 12, '0');
  const base = `${videoBaseUrl.replace(/\/$/, '')}/${number}/${channel}`;
  const query = token === undefined ? '' : `?token=${token}`;
  return { stream_url: `${base}/stream.flv${query}`, ws_flv_url: null, hls_url: `${base}/index.m3u8${query}` };
}

/** Creates the URLs with which a user opens a live stream; they are valid until the token expires. */
export function createStreamUrls(
  { config, streamTokens }: StreamUrlDeps,
  { accountId, userId, sessionId, mintedByKeyId, keyId }: StreamUser,
  stream: LiveStream,
): StreamUrls {
  const caller = { kind: 'user', accountId, userId, sessionId, mintedByKeyId, keyId } as const;
  const { token, expiresAt } = streamTokens.issue({ ...stream, kind: 'live', caller });
  return {
    ...getStreamAddresses(config.VIDEO_BASE_URL, stream, token),
    token_expires_at: expiresAt.toISOString(),
  };
}
