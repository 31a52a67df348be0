import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Caller } from '../../access/caller.ts';

/** URL of one stream for one user. */
export interface StreamUrl {
  readonly url: string;
  readonly expiresAt: Date;
}

/** Dependencies of the URL. */
export interface StreamUrlDeps {
  readonly config: { readonly VIDEO_BASE_URL: string };
  readonly streamTokens: StreamTokens;
}

/** User for whom a URL is created. */
export type StreamUser = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId'>;

/** Returns the address of a live stream without credentials. Paths have the 12- or 20-digit form of a number. */
export function getStreamAddress(videoBaseUrl: string, imei: string, channel: number): string {
  const number = imei.padStart(imei.length > 12 ? 20 : 12, '0');
  return `${videoBaseUrl.replace(/\/$/, '')}/${number}/${channel}/stream.flv`;
}

/** Creates the URL with which a user opens a live stream; it is valid until the token expires. */
export function createStreamUrl(
  { config, streamTokens }: StreamUrlDeps,
  { accountId, userId, sessionId, mintedByKeyId, keyId }: StreamUser,
  { imei, channel }: { readonly imei: string; readonly channel: number },
): StreamUrl {
  const caller = { kind: 'user', accountId, userId, sessionId, mintedByKeyId, keyId } as const;
  const { token, expiresAt } = streamTokens.issue({ imei, channel, kind: 'live', caller });
  return { url: `${getStreamAddress(config.VIDEO_BASE_URL, imei, channel)}?token=${token}`, expiresAt };
}
