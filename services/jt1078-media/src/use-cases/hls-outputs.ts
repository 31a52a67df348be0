import type { Logger } from '@fleet/service-kit';
import { endedStreamTtlMs, type HlsContinuation, type StreamId } from '@fleet/storage';
import type { EndReason } from '../domain/end-reason.ts';
import { HlsPlaylist } from '../domain/hls-playlist.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import { Mp4Viewer } from '../domain/mp4-viewer.ts';
import { formatStreamName } from '../domain/stream-name.ts';

/** HLS of one stream: the conversion and its playlist. */
interface HlsOutput {
  readonly stream: MediaStream;
  readonly viewer: Mp4Viewer;
  readonly playlist: HlsPlaylist;
  lastReadAtMs: number;
  endedAtMs: number | null;
}

/** Time without a request after which the conversion stops. */
const readerTimeoutMs = 10_000;

const partMs = 500;
const playlistOptions = {
  minSegmentMs: 1_000,
  maxSegmentMs: 4_000,
  windowSegments: 6,
  maxBytes: 32 * 1024 * 1024,
  partMs,
};

/** Converts streams to HLS while a player reads it: in memory, by copying, one conversion for all players. */
export class HlsOutputs {
  readonly #outputs = new Map<string, HlsOutput>();
  /** Streams whose playlist has continued that of another pod. */
  readonly #continued = new WeakSet<MediaStream>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  get size(): number {
    return this.#outputs.size;
  }

  /** Returns the playlist of a stream that is converted, or has just ended; counts as a reader. */
  find(id: StreamId): HlsPlaylist | null {
    const output = this.#outputs.get(formatStreamName(id));
    if (output === undefined) return null;
    output.lastReadAtMs = performance.now();
    return output.playlist;
  }

  /** Returns the playlist of a stream; starts the conversion if there is none. */
  open(stream: MediaStream): HlsPlaylist {
    const existing = this.#outputs.get(formatStreamName(stream.id));
    if (existing !== undefined && existing.stream === stream && existing.endedAtMs === null) {
      existing.lastReadAtMs = performance.now();
      return existing.playlist;
    }
    return this.#start(stream).playlist;
  }

  /** Returns where the playlist of another pod continues; null if nothing reads the stream as HLS. */
  findContinuation(id: StreamId): HlsContinuation | null {
    return this.#outputs.get(formatStreamName(id))?.playlist.continuation ?? null;
  }

  /** Returns whether players have read files of moved streams within this time. */
  hasMovedReaders(withinMs: number, nowMs = performance.now()): boolean {
    return [...this.#outputs.values()].some(
      ({ playlist, lastReadAtMs }) => playlist.hasMoved && nowMs - lastReadAtMs < withinMs,
    );
  }

  /** Stops conversions without readers; call it regularly. */
  check(nowMs: number): void {
    for (const [name, output] of this.#outputs) {
      if (output.endedAtMs !== null) {
        if (nowMs - output.endedAtMs >= endedStreamTtlMs) this.#outputs.delete(name);
      } else if (nowMs - output.lastReadAtMs >= readerTimeoutMs) {
        this.#outputs.delete(name);
        // The stream counts as unwatched since the last request.
        output.stream.leave(output.viewer, output.lastReadAtMs);
        output.viewer.destroy();
        this.#log.info({ stream: name }, 'stopped hls without readers');
      }
    }
  }

  #start(stream: MediaStream): HlsOutput {
    const name = formatStreamName(stream.id);
    // Segments last a second at least, so numbers that begin with the time are above those of an earlier conversion.
    const playlist = new HlsPlaylist({
      ...playlistOptions,
      firstNumber: Math.floor(Date.now() / 1_000),
      continuation: this.#takeContinuation(stream),
    });
    const nowMs = performance.now();
    const end = (reason?: EndReason): void => {
      output.endedAtMs ??= performance.now();
      if (reason === 'moved') playlist.move();
      else playlist.end();
    };
    const viewer = new Mp4Viewer(
      { audio: 'aac', fragmentMs: partMs, maxQueueBytes: Number.POSITIVE_INFINITY, nowMs },
      {
        onInit: (init) => playlist.addInit(init),
        onFragment: (fragment) => playlist.addFragment(fragment),
        onEnding: () => playlist.completeSegment(),
        onEnd: end,
        queuedBytes: () => 0,
      },
    );
    const output: HlsOutput = { stream, viewer, playlist, lastReadAtMs: nowMs, endedAtMs: null };
    this.#outputs.set(name, output);
    stream.join(viewer, {
      onStart: () => undefined,
      onNoMedia: (reason) => {
        stream.leave(viewer);
        end(reason);
      },
    });
    this.#log.info({ stream: name }, 'started hls');
    return output;
  }

  /** Returns where the first playlist of a stream from another pod begins; later ones begin with the time. */
  #takeContinuation(stream: MediaStream): HlsContinuation | undefined {
    if (this.#continued.has(stream)) return undefined;
    this.#continued.add(stream);
    return stream.claim.request?.move?.hls;
  }
}
