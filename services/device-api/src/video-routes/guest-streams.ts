import { defineRoute, type RequestContext, type Route } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type GuestStream, guestPath } from '../access/guests.ts';
import type { Deps } from '../deps.ts';
import { createCommandContext } from '../routes/command-context.ts';
import { channel } from '../routes/parameters.ts';
import { playback } from '../routes/realtime-stream-flv.ts';
import { streamErrors } from '../routes/responses.ts';
import { openForGuest } from '../use-cases/open-for-guest.ts';
import { sendHlsFile, sendPlaylist } from '../use-cases/read-hls.ts';
import { watchStream } from '../use-cases/watch-stream.ts';
import { blockingQuery, hlsFileName } from './hls.ts';

const slug = Type.String({
  pattern: '^[0-9A-Za-z]{22}$',
  description: 'Slug of the share link.',
  examples: ['A1b2C3d4E5f6G7h8I9j0K1'],
});
const params = { slug, channel };
const { token, ...formats } = playback;
const errors = {
  ...streamErrors,
  401: 'The token is missing, forged, or has expired.',
  403: 'The link does not include live video, or the token is of another link.',
  404: 'The link shows no such camera, or its device is not connected.',
  410: 'The link has expired or was revoked.',
  502: 'The camera refused or did not connect, or the media server returned an error.',
  503: 'No media server accepts streams.',
  504: 'The device did not reply within 90 seconds.',
} as const;
const shared = {
  method: 'get',
  tags: ['Guests'],
  allowHead: false,
  errors,
  requiredRight: () => 'live',
} as const;

/** Opens the stream of a guest's request, and starts it if needed. */
const openStream = (
  deps: Deps,
  context: RequestContext,
  open: (id: GuestStream['id']) => Promise<void>,
): Promise<void> =>
  openForGuest(deps, { stream: deps.guard.getGuestStream(context), open }, createCommandContext(deps, context));

// Live video of a share link's vehicle, for readers without an account.
export const guestStreams = (deps: Deps): Route[] => [
  defineRoute({
    ...shared,
    path: `${guestPath}/stream.flv`,
    operationId: 'watchSharedStream',
    summary: 'Watch shared video',
    description:
      'Live video of a share link. Starts the stream if it does not run. `GET /api/share-links/:slug` returns the address with its token. With the offer of a websocket the FLV is sent as binary messages.',
    params: Type.Object(params),
    query: Type.Object({ ...formats, token }),
    contentType: 'video/x-flv',
    extraSuccesses: { 101: 'The connection is a websocket.' },
    bucket: 'stream',
    handle: ({ query, context }) =>
      openStream(deps, context, (id) =>
        watchStream(deps, id, { audio: query.audio ?? 'aac', hevc: query.hevc }, context),
      ),
  }),
  defineRoute({
    ...shared,
    path: `${guestPath}/index.m3u8`,
    operationId: 'readSharedPlaylist',
    summary: 'Watch shared video as HLS',
    description: 'Live video of a share link. Starts the stream if it does not run.',
    params: Type.Object(params),
    query: Type.Object({ token, ...blockingQuery }),
    contentType: 'application/vnd.apple.mpegurl',
    bucket: 'hls',
    handle: ({ query: { token: given, ...position }, context }) =>
      openStream(deps, context, (id) =>
        sendPlaylist(deps, id, { position, fileQuery: `?token=${given ?? ''}` }, context),
      ),
  }),
  defineRoute({
    ...shared,
    path: `${guestPath}/hls/:file`,
    operationId: 'readSharedHlsFile',
    summary: 'Get a file of shared HLS',
    description: 'Players take the addresses of these files from the playlist.',
    params: Type.Object({ ...params, file: hlsFileName }),
    query: Type.Object({ token }),
    contentType: 'video/mp4',
    bucket: 'hls',
    handle: ({ params: { file }, context }) => sendHlsFile(deps, deps.guard.getGuestStream(context).id, file, context),
  }),
];
