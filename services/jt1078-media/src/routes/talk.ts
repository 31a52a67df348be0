import { createVoiceEncoder, getPayloadTypeName, PayloadType } from '@fleet/jt1078';
import { AppError, defineRoute, type Logger, type RequestContext, type Route } from '@fleet/service-kit';
import { acceptWebsocket, assertWebsocketOffered, keepWebsocketAlive } from '@fleet/service-kit/websocket';
import { Type } from 'typebox';
import type { WebSocket } from 'ws';
import type { EndReason } from '../domain/end-reason.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import { formatStreamName } from '../domain/stream-name.ts';
import { TalkSession } from '../domain/talk-session.ts';
import type { VoiceLine } from '../domain/voice-line.ts';
import {
  authorizeStream,
  findStream,
  parseStreamId,
  type StreamAccessDeps,
  signatureQuery,
  streamErrors,
  streamName,
} from './stream-access.ts';

/** Dependencies of the talk route. */
interface TalkRouteDeps extends StreamAccessDeps {
  /** Returns the codec that a terminal reports, or null when it is unknown. */
  readonly findVoiceCodec: (imei: string) => Promise<number | null>;
  readonly log: Logger;
}

/** Two seconds of PCM. */
const maxMessageBytes = 32_000;
const pingIntervalMs = 10_000;

/** Close codes: of the protocol, and those that device-api forwards to the talker (docs/reference/video.md). */
const closeCodes = { invalidData: 1007, restart: 1012, cameraLeft: 4404, busy: 4409 } as const;

// GET /talk/<sim>_<channel>: a websocket that exchanges PCM with the camera of a talk stream.
export const talkRoute = (deps: TalkRouteDeps): Route =>
  defineRoute({
    method: 'get',
    path: '/talk/:stream',
    operationId: 'talk',
    summary: 'Talk to a camera over a websocket',
    params: Type.Object({ stream: streamName }),
    query: Type.Object(signatureQuery),
    allowHead: false,
    errors: {
      ...streamErrors,
      409: 'somebody talks already',
      502: 'the camera did not connect or has no usable codec',
    },
    handle: async ({ params, query, context }) => {
      assertWebsocketOffered(context);
      const id = parseStreamId('talk', params.stream);
      authorizeStream(deps, id, query);
      const stream = await findStream(deps, id, context.signal);
      const codec = await findCodec(deps, id.imei);
      if (stream.voice === null || stream.voice.isOccupied) throw busyError();
      const websocket = await acceptWebsocket(context, { maxPayloadBytes: maxMessageBytes });
      startSession(deps, stream, stream.voice, codec, websocket, context);
    },
  });

const busyError = (): AppError => new AppError('camera_busy', 'Another user talks to the camera.');

async function findCodec(deps: Pick<TalkRouteDeps, 'findVoiceCodec'>, imei: string): Promise<number> {
  const codec = (await deps.findVoiceCodec(imei)) ?? PayloadType.G711A;
  if (createVoiceEncoder(codec) === null)
    throw new AppError(
      'upstream_error',
      `The camera plays ${getPayloadTypeName(codec)} (payload type ${codec}), which talk does not support. Set it to G.711, G.726 or ADPCM.`,
    );
  return codec;
}

function startSession(
  { registry, log }: TalkRouteDeps,
  stream: MediaStream,
  line: VoiceLine,
  codec: number,
  websocket: WebSocket,
  { requestId }: RequestContext,
): void {
  const session = new TalkSession(
    line,
    {
      send: (pcm) => websocket.send(pcm),
      end: (reason) => websocket.close(...toClose(reason as EndReason)),
      get queuedBytes() {
        return websocket.bufferedAmount;
      },
    },
    codec,
  );
  if (!line.join(session)) return websocket.close(closeCodes.busy, 'somebody else talks');
  const details = { stream: formatStreamName(stream.id), requestId, codec };
  log.info(details, 'talk began');
  keepWebsocketAlive(websocket, pingIntervalMs);
  websocket.on('message', (data, isBinary) => {
    const pcm = data as Buffer;
    if (isBinary && pcm.length % 2 === 0) session.push(pcm);
    else websocket.close(closeCodes.invalidData, 'send 16-bit PCM as binary messages');
  });
  websocket.once('close', (code) => {
    log.info({ ...details, code, ...session.counters }, 'talk ended');
    line.leave(session);
    registry.end(stream, 'talkEnded');
  });
}

function toClose(reason: EndReason): [number, string] {
  if (reason === 'shutdown') return [closeCodes.restart, 'the media server restarts'];
  return [closeCodes.cameraLeft, 'the camera has ended the talk'];
}
