import { defineRoute } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { channel, imei } from '../routes/parameters.ts';
import { playback } from '../routes/realtime-stream-flv.ts';
import { streamErrors } from '../routes/responses.ts';
import { sendHlsFile, sendPlaylist } from '../use-cases/read-hls.ts';
import { streamKind } from './parameters.ts';

const params = { imei, channel };
const query = { kind: Type.Optional(streamKind), token: playback.token };
const fileQuery = Type.Object(query);
/** What a low-latency player waits for. */
export const blockingQuery = {
  _HLS_msn: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Media sequence number that a low-latency player waits for.',
      examples: [12],
    }),
  ),
  _HLS_part: Type.Optional(
    Type.Integer({ minimum: 0, description: 'Partial segment that a low-latency player waits for.', examples: [0] }),
  ),
};
const playlistQuery = Type.Object({ ...query, ...blockingQuery });
export const hlsFileName = Type.String({
  pattern: '^[a-z]{1,16}-[0-9.]{1,32}\\.(?:mp4|m4s)$',
  description: 'Name of an initialization section, a segment or a part.',
  examples: ['segment-1.m4s'],
});
const hlsErrors = {
  ...streamErrors,
  404: 'The channel is not streaming, or the file has left the playlist.',
} as const;

const shared = {
  method: 'get',
  tags: ['Video service'],
  scopes: ['video'],
  bucket: 'hls',
  allowHead: false,
  errors: hlsErrors,
  requiredRight: ({ query: input }: { query: unknown }) => toKind(input as Static<typeof fileQuery>),
} as const;

const toKind = ({ kind }: Static<typeof fileQuery>): 'live' | 'history' => (kind === 'history' ? 'history' : 'live');

/** Returns the query of the files of a playlist, which take the same token. */
const toFileQuery = ({ kind, token }: Static<typeof fileQuery>): string => {
  const given = new URLSearchParams({
    ...(kind === 'history' ? { kind } : {}),
    ...(token === undefined ? {} : { token }),
  });
  return given.size === 0 ? '' : `?${given.toString()}`;
};

export const playlist = (deps: Deps) =>
  defineRoute({
    ...shared,
    path: '/:imei/:channel/index.m3u8',
    operationId: 'readPlaylist',
    summary: 'Watch a stream as HLS',
    description:
      'Low-latency HLS with fMP4 segments, for players that cannot play FLV. A reader that began with a valid token continues after its expiry, until it has sent no request for 60 seconds.',
    params: Type.Object(params),
    query: playlistQuery,
    contentType: 'application/vnd.apple.mpegurl',
    handle: ({ params: { imei: number, channel: channelId }, query: input, context }) =>
      sendPlaylist(
        deps,
        { kind: toKind(input), imei: canonicalImei(number), channel: channelId },
        { position: { _HLS_msn: input._HLS_msn, _HLS_part: input._HLS_part }, fileQuery: toFileQuery(input) },
        context,
      ),
  });

export const hlsFile = (deps: Deps) =>
  defineRoute({
    ...shared,
    path: '/:imei/:channel/hls/:file',
    operationId: 'readHlsFile',
    summary: 'Get an HLS segment or playlist',
    description: 'Players take the addresses of these files from the playlist.',
    params: Type.Object({
      ...params,
      file: hlsFileName,
    }),
    query: fileQuery,
    contentType: 'video/mp4',
    handle: ({ params: { imei: number, channel: channelId, file }, query: input, context }) =>
      sendHlsFile(deps, { kind: toKind(input), imei: canonicalImei(number), channel: channelId }, file, context),
  });
