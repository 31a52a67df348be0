import type { Logger } from '@fleet/service-kit';
import { endedStreamTtlMs, type StreamId } from '@fleet/storage';
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
    const playlist = new HlsPlaylist({ ...playlistOptions, firstNumber: Math.floor(Date.now() / 1_000) });
    const nowMs = performance.now();
    const end = (): void => {
      output.endedAtMs ??= performance.now();
      playlist.end();
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
      onNoMedia: () => {
        stream.leave(viewer);
        end();
      },
    });
    this.#log.info({ stream: name }, 'started hls');
    return output;
  }
}
