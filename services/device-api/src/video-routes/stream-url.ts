import type { RequestContext } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';

/** Fields of a response that name a stream. */
export const streamUrlFields = {
  stream_url: Type.String({
    description:
      'URL of the stream as FLV, with a token: it needs no headers, and opens the stream until the token expires.',
    examples: ['https://video.example.com/013800138000/1/stream.flv?token=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'],
  }),
  ws_flv_url: Type.String({
    description: 'URL of the same stream as FLV in the binary messages of a websocket.',
    examples: ['wss://video.example.com/013800138000/1/stream.flv?token=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'],
  }),
  hls_url: Type.String({
    description: 'URL of the same stream as HLS, for players that cannot play FLV, such as iPhones.',
    examples: ['https://video.example.com/013800138000/1/index.m3u8?token=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'],
  }),
  token_expires_at: Type.String({
    format: 'date-time',
    description: 'Expiry of that token. A stream that is open by then stays open.',
    examples: ['2026-08-01T10:10:00.000Z'],
  }),
};

/** Returns the address with which the caller of a request talks to a driver; `imei` is as the caller wrote it. */
export function createTalkUrl(
  { guard, streamTokens }: Pick<Deps, 'guard' | 'streamTokens'>,
  { imei, channel }: { readonly imei: string; readonly channel: number },
  context: RequestContext,
): string {
  const caller = guard.getCaller(context);
  if (caller.kind === 'link') throw new Error('a guest may not talk');
  const { token } = streamTokens.issue({ imei: canonicalImei(imei), channel, kind: 'talk', caller });
  const { protocol, host } = context.request;
  return `${protocol === 'https' ? 'wss' : 'ws'}://${host}/${imei}/${channel}/talk?token=${token}`;
}

/** A stream, with the number as the caller wrote it. */
interface NamedStream {
  readonly imei: string;
  readonly channel: number;
  readonly kind: 'live' | 'history';
  /** True if the caller chose the main stream of live video. */
  readonly isMainStream?: boolean;
}

type StreamUrls = Readonly<Record<keyof typeof streamUrlFields, string>>;

/** Returns the URLs with which the caller of a request opens a stream; `imei` is as the caller wrote it. */
export function createStreamUrl(
  { guard, streamTokens }: Pick<Deps, 'guard' | 'streamTokens'>,
  { imei, channel, kind, isMainStream = false }: NamedStream,
  context: RequestContext,
): StreamUrls {
  const caller = guard.getCaller(context);
  // Guests of a share link reach no route that names a device.
  if (caller.kind === 'link') throw new Error('a guest has no stream URL of a device');
  const { token, expiresAt } = streamTokens.issue({
    imei: canonicalImei(imei),
    channel,
    kind,
    caller,
    isMainStream,
  });
  const { protocol, host } = context.request;
  const query = new URLSearchParams({ ...(kind === 'history' ? { kind } : {}), token }).toString();
  const path = `${host}/${imei}/${channel}`;
  return {
    stream_url: `${protocol}://${path}/stream.flv?${query}`,
    ws_flv_url: `${protocol === 'https' ? 'wss' : 'ws'}://${path}/stream.flv?${query}`,
    hls_url: `${protocol}://${path}/index.m3u8?${query}`,
    token_expires_at: expiresAt.toISOString(),
  };
}
