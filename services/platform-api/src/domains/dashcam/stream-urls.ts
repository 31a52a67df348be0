import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Caller } from '../../access/caller.ts';

/** URLs of one stream for one user. */
export interface StreamUrls {
  readonly flv: string;
  readonly flvOverWebsocket: string;
  readonly hls: string;
  readonly expiresAt: Date;
}

/** Dependencies of URLs. */
export interface StreamUrlDeps {
  readonly config: { readonly VIDEO_BASE_URL: string };
  readonly streamTokens: StreamTokens;
}

/** User for whom URLs are created. */
export type StreamUser = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId'>;

/** Creates the URLs with which a user opens a live stream; they are valid until the token expires. */
export async function createStreamUrls(
  { config, streamTokens }: StreamUrlDeps,
  { accountId, userId, sessionId, mintedByKeyId, keyId }: StreamUser,
  { imei, channel }: { readonly imei: string; readonly channel: number },
): Promise<StreamUrls> {
  const caller = { kind: 'user', accountId, userId, sessionId, mintedByKeyId, keyId } as const;
  const { token, expiresAt } = await streamTokens.issue({ imei, channel, kind: 'live', caller });
  const base = `${config.VIDEO_BASE_URL.replace(/\/$/, '')}/${imei}/${channel}`;
  const query = `token=${token}`;
  return {
    flv: `${base}/stream.flv?${query}`,
    flvOverWebsocket: `${base.replace(/^http/, 'ws')}/stream.flv?${query}`,
    hls: `${base}/index.m3u8?${query}`,
    expiresAt,
  };
}
