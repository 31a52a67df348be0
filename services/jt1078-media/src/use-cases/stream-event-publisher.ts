import { randomUUID } from 'node:crypto';
import { type Bus, publish, type StreamChanged, streamChanged, streamStatusEvent } from '@fleet/bus';
import type { StreamId } from '@fleet/storage';
import { type EndReason, isContinuedElsewhere } from '../domain/end-reason.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import { formatStreamName } from '../domain/stream-name.ts';

/** Delay after which events relayed by several services can no longer overtake one another. */
const republishDelayMs = 2_000;

/** Publishes changes of this pod's live streams: start, media, number of viewers and end. */
export class StreamEventPublisher {
  readonly #bus: Bus;
  readonly #published = new Map<string, string>();
  readonly #publisherId = randomUUID();
  #sequence = 0;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Publishes changes since the last call. Call it several times a second. */
  publishChanges(streams: Iterable<MediaStream>): void {
    for (const stream of streams) {
      if (stream.id.kind !== 'live') continue;
      const state = buildStreamState(stream, 'streaming');
      const text = JSON.stringify(state);
      const name = formatStreamName(stream.id);
      if (this.#published.get(name) === text) continue;
      this.#published.set(name, text);
      this.#publish(state);
    }
  }

  /** Publishes the end of a stream, unless it continues on another pod. */
  publishEnded(stream: MediaStream, reason: EndReason): void {
    if (stream.id.kind !== 'live') return;
    this.#published.delete(formatStreamName(stream.id));
    if (!isContinuedElsewhere(reason))
      this.#publish({ ...buildStreamState(stream, 'stopped'), viewers: 0, ...toEndReason(reason) });
  }

  /** Publishes the state of a stream again with the next call, as others may have a different one. */
  invalidate(id: StreamId): void {
    this.#published.delete(formatStreamName(id));
  }

  /**
   * Handles an end published by another pod. Relays may deliver it after this pod's own event, so the state is
   * published again after a delay.
   */
  onRemoteEnd({ imei, channel, status, order }: StreamChanged): void {
    if (status !== 'stopped' || order?.by === this.#publisherId) return;
    setTimeout(() => this.invalidate({ kind: 'live', imei, channel }), republishDelayMs).unref();
  }

  /** Publishes the end of a stream that no pod has: its camera did not connect, or its pod has crashed. */
  publishStopped(id: StreamId): void {
    if (id.kind === 'live') this.#publish(streamStatusEvent(id, 'stopped'));
  }

  #publish(change: StreamChanged): void {
    this.#sequence += 1;
    const order = { by: this.#publisherId, sequence: this.#sequence };
    publish(this.#bus, streamChanged, { ...change, atMs: Date.now(), order });
  }
}

/** Returns the reason if it is one that users understand. */
function toEndReason(reason: EndReason): Pick<StreamChanged, 'endReason'> {
  switch (reason) {
    case 'idle':
    case 'noData':
    case 'cameraLeft':
    case 'stopped':
    case 'dataBudgetSpent':
    case 'shutdown':
      return { endReason: reason };
    default:
      return {};
  }
}

/** Returns the state of a live stream of this pod. */
export function buildStreamState(
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
