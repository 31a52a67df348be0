import { randomUUID } from 'node:crypto';
import { announce, type Bus, notStreaming, type StreamChanged, streamChanged } from '@fleet/bus';
import type { StreamId } from '@fleet/storage';
import type { EndReason, MediaStream } from '../domain/media-stream.ts';
import { streamName } from '../domain/stream-key.ts';

/** What is told on by several may overtake one another for moments only. */
const againMs = 2_000;

/** Tells whoever shows live streams how those of this pod go on: when they begin, what they are, how many watch, and their end. */
export class StreamTeller {
  readonly #bus: Bus;
  readonly #told = new Map<string, string>();
  readonly #id = randomUUID();
  #sequence = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Tells what has changed since the last call; to be called several times a second. */
  tell(streams: Iterable<MediaStream>): void {
    for (const stream of streams) {
      if (stream.id.kind !== 'live') continue;
      const state = stateOf(stream, 'streaming');
      const text = JSON.stringify(state);
      const name = streamName(stream.id);
      if (this.#told.get(name) === text) continue;
      this.#told.set(name, text);
      this.#announce(state);
    }
  }

  /** A stream has ended here; one that another pod has taken over goes on there. */
  ended(stream: MediaStream, reason: EndReason): void {
    if (stream.id.kind !== 'live') return;
    this.#told.delete(streamName(stream.id));
    if (reason !== 'takenOver') this.#announce({ ...stateOf(stream, 'stopped'), viewers: 0 });
  }

  /** Others may have been told otherwise of a stream that goes on here: it is told again. */
  forget(id: StreamId): void {
    this.#told.delete(streamName(id));
  }

  /** Another pod tells the end of a stream, which may be here by now: who tells both on may do so the wrong way round, and so it is told again in a moment. */
  heard({ imei, channel, status, order }: StreamChanged): void {
    if (status !== 'stopped' || order?.by === this.#id) return;
    setTimeout(() => this.forget({ kind: 'live', imei, channel }), againMs).unref();
  }

  /** Nobody has a stream any more of which nobody told the end: the camera said yes and did not come, or the pod that had it has died. */
  isNowhere(id: StreamId): void {
    if (id.kind === 'live') this.#announce(notStreaming(id, 'stopped'));
  }

  #announce(change: StreamChanged): void {
    this.#sequence += 1;
    const order = { by: this.#id, sequence: this.#sequence };
    announce(this.#bus, streamChanged, { ...change, atMs: Date.now(), order });
  }
}

function stateOf({ id, claim, muxer, viewers }: MediaStream, status: StreamChanged['status']): StreamChanged {
  const { video, audio } = muxer;
  return {
    imei: id.imei,
    channel: id.channel,
    status,
    streamType: claim.request?.streamType ?? 0,
    video: video === null ? null : { codec: video.codec, width: video.width, height: video.height },
    audioCodec: audio?.codec ?? null,
    viewers: viewers.size,
    startedAtMs: claim.startedAtMs,
    ...(claim.request === null ? {} : { startId: claim.request.requestId }),
  };
}
