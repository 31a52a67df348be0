import { type Bus, playbackProgress, publish } from '@fleet/bus';
import type { MediaStream } from '../domain/media-stream.ts';

/** Publishes the progress of this pod's recordings, so that pages show where they are. */
export class PlaybackProgressPublisher {
  readonly #bus: Bus;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Publishes the progress of all recordings. Call it each second. */
  publishAll(streams: Iterable<MediaStream>): void {
    for (const stream of streams) this.#publish(stream, false);
  }

  publishEnded(stream: MediaStream): void {
    this.#publish(stream, true);
  }

  #publish({ id: { kind, imei, channel }, timestampMs, viewers }: MediaStream, isEnded: boolean): void {
    if (kind !== 'history') return;
    publish(this.#bus, playbackProgress, { imei, channel, timestampMs, viewers: viewers.size, isEnded });
  }
}
