import { randomUUID } from 'node:crypto';
import { type Bus, publish, type StreamChanged, streamChanged, streamStatusEvent } from '@fleet/bus';
import type { StreamId } from '@fleet/storage';
import type { EndReason, MediaStream } from '../domain/media-stream.ts';
import { formatStreamName } from '../domain/stream-name.ts';

/** What is told on by several may overtake one another for moments only. */
const republishDelayMs = 2_000;

/** Tells whoever shows live streams how those of this pod go on: when they begin, what they are, how many watch, and their end. */
export class StreamEventPublisher {
  readonly #bus: Bus;
  readonly #published = new Map<string, string>();
  readonly #publisherId = randomUUID();
  #sequence = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Tells what has changed since the last call; to be called several times a second. */
  publishChanges(streams: Iterable<MediaStream>): void {
    for (const stream of streams) {
      if (stream.id.kind !== 'live') continue;
      const state = buildStreamChanged(stream, 'streaming');
      const text = JSON.stringify(state);
      const name = formatStreamName(stream.id);
      if (this.#published.get(name) === text) continue;
      this.#published.set(name, text);
      this.#publish(state);
    }
  }

  /** A stream has ended here; one that another pod has taken over goes on there. */
  publishEnded(stream: MediaStream, reason: EndReason): void {
    if (stream.id.kind !== 'live') return;
    this.#published.delete(formatStreamName(stream.id));
    if (reason !== 'takenOver') this.#publish({ ...buildStreamChanged(stream, 'stopped'), viewers: 0 });
  }

  /** Others may have been told otherwise of a stream that goes on here: it is told again. */
  invalidate(id: StreamId): void {
    this.#published.delete(formatStreamName(id));
  }

  /** Another pod tells the end of a stream, which may be here by now: who tells both on may do so the wrong way round, and so it is told again in a moment. */
  onRemoteEnd({ imei, channel, status, order }: StreamChanged): void {
    if (status !== 'stopped' || order?.by === this.#publisherId) return;
    setTimeout(() => this.invalidate({ kind: 'live', imei, channel }), republishDelayMs).unref();
  }

  /** Nobody has a stream any more of which nobody told the end: the camera said yes and did not come, or the pod that had it has died. */
  publishStopped(id: StreamId): void {
    if (id.kind === 'live') this.#publish(streamStatusEvent(id, 'stopped'));
  }

  #publish(change: StreamChanged): void {
    this.#sequence += 1;
    const order = { by: this.#publisherId, sequence: this.#sequence };
    publish(this.#bus, streamChanged, { ...change, atMs: Date.now(), order });
  }
}

function buildStreamChanged(
  { id, claim, muxer, viewers }: MediaStream,
  status: StreamChanged['status'],
): StreamChanged {
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
