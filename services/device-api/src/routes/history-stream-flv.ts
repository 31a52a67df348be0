import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { watchStream } from '../use-cases/watch-stream.ts';
import { channel, imei } from './parameters.ts';
import { playback } from './realtime-stream-flv.ts';
import { streamErrors } from './responses.ts';

export const historyStreamFlv = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/history/stream.flv',
    operationId: 'watchHistoryStream',
    summary: 'Watch a recording as HTTP-FLV',
    description:
      'Ends with the recording. Waits for a camera that has accepted. HEAD checks whether the channel plays a recording.',
    tags: ['History playback'],
    query: Type.Object({ imei, channel, ...playback }),
    contentType: 'video/x-flv',
    errors: { ...streamErrors, 404: 'The channel plays no recording: none was started, or it has ended.' },
    scopes: ['command', 'video'],
    bucket: 'stream',
    requiredRight: () => 'history',
    handle: ({ query, context }) =>
      watchStream(
        deps,
        { kind: 'history', imei: canonicalImei(query.imei), channel: query.channel },
        { audio: query.audio ?? 'aac', hevc: query.hevc },
        context,
      ),
  });
