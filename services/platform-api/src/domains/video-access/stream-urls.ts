import type { StreamTokens } from '@fleet/service-kit/stream-tokens';
import type { Caller } from '../../access/caller.ts';
import type { StreamResponse } from '../dashcam/schema.ts';

/** Addresses of one stream, by the kind of player. */
type StreamAddresses = Pick<StreamResponse, 'stream_url' | 'ws_flv_url' | 'hls_url'>;

/** The same for one user, with a token. */
export type StreamUrls = StreamAddresses & Pick<StreamResponse, 'talk_url' | 'token_expires_at'>;

/** A live stream; its number is canonical. */
interface LiveStream {
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
function getStreamAddresses(videoBaseUrl: string, { imei, channel }: LiveStream, token?: string): StreamAddresses {
  return toAddresses(getChannelAddress(videoBaseUrl, { imei, channel }), token);
}

/** Returns the addresses of a live stream for events to several users, whose own tokens are added later. */
export const getSharedAddresses = (videoBaseUrl: string, stream: LiveStream) => ({
  ...getStreamAddresses(videoBaseUrl, stream),
  talk_url: null,
  token_expires_at: null,
});

function toAddresses(base: string, token: string | undefined): StreamAddresses {
  const query = token === undefined ? '' : `?token=${token}`;
  return {
    stream_url: `${base}/stream.flv${query}`,
    // http becomes ws, https becomes wss.
    ws_flv_url: `${base.replace(/^http/, 'ws')}/stream.flv${query}`,
    hls_url: `${base}/index.m3u8${query}`,
  };
}

function getChannelAddress(videoBaseUrl: string, { imei, channel }: LiveStream): string {
  const number = imei.padStart(imei.length > 12 ? 20 : 12, '0');
  return `${videoBaseUrl.replace(/\/$/, '')}/${number}/${channel}`;
}

/** Creates the address of the websocket with which a user talks to a driver; it is valid as long as a stream's. */
export function createTalkUrl({ config, streamTokens }: StreamUrlDeps, user: StreamUser, stream: LiveStream): string {
  const { imei, channel } = stream;
  const { token } = streamTokens.issue({ imei, channel, kind: 'talk', caller: toTokenCaller(user) });
  return `${getChannelAddress(config.VIDEO_BASE_URL, stream).replace(/^http/, 'ws')}/talk?token=${token}`;
}

const toTokenCaller = ({ accountId, userId, sessionId, mintedByKeyId, keyId }: StreamUser) =>
  ({ kind: 'user', accountId, userId, sessionId, mintedByKeyId, keyId }) as const;

/** Creates the URLs with which a user opens a live stream; they are valid until the token expires. */
export function createStreamUrls(
  deps: StreamUrlDeps,
  user: StreamUser,
  { mayTalk, ...stream }: LiveStream & { readonly mayTalk: boolean },
): StreamUrls {
  const { token, expiresAt } = deps.streamTokens.issue({ ...stream, kind: 'live', caller: toTokenCaller(user) });
  return {
    ...getStreamAddresses(deps.config.VIDEO_BASE_URL, stream, token),
    talk_url: mayTalk ? createTalkUrl(deps, user, stream) : null,
    token_expires_at: expiresAt.toISOString(),
  };
}

/** Addresses with which a guest watches a camera. */
type GuestAddresses = StreamAddresses & Pick<StreamResponse, 'token_expires_at'>;

/** Creates the URLs with which a user watches a recording of a camera; they are valid until the token expires. */
export function createPlaybackUrls(deps: StreamUrlDeps, user: StreamUser, stream: LiveStream): StreamUrls {
  const { imei, channel } = stream;
  const { token, expiresAt } = deps.streamTokens.issue({ imei, channel, kind: 'history', caller: toTokenCaller(user) });
  const base = getChannelAddress(deps.config.VIDEO_BASE_URL, stream);
  return {
    ...toAddresses(base, `${token}&kind=history`),
    talk_url: null,
    token_expires_at: expiresAt.toISOString(),
  };
}

/** Creates the addresses with which guests of a share link watch a camera. They contain no terminal number. */
export async function createGuestAddresses(
  { config, streamTokens }: StreamUrlDeps,
  { _id: linkId, slug }: { readonly _id: number; readonly slug: string },
  channel: number,
): Promise<GuestAddresses> {
  const { token, expiresAt } = await streamTokens.issueForLink({ linkId, slug });
  const addresses = toAddresses(`${config.VIDEO_BASE_URL.replace(/\/$/, '')}/s/${slug}/${channel}`, token);
  return { ...addresses, token_expires_at: expiresAt.toISOString() };
}
