import { type FlvTag, Mp4Fragmenter, type Mp4FragmentOutput, type Mp4Init } from '@fleet/jt1078';
import type { EndReason } from './end-reason.ts';
import type { ChunkCache } from './flv-chunks.ts';
import type { SequenceHeaders } from './gop-cache.ts';
import type { PlayOptions, Tracks } from './play-options.ts';
import type { FirstTags, StreamViewer, ViewerCounters } from './stream-viewer.ts';

/** Receives the output of an `Mp4Viewer`. */
interface Mp4Sink {
  readonly onInit: (init: Mp4Init) => void;
  readonly onFragment: (fragment: Mp4FragmentOutput) => void;
  /** Called before the last fragment, if the stream has ended. */
  readonly onEnding?: () => void;
  readonly onEnd: (reason?: EndReason) => void;
  /** Bytes that were accepted and not sent yet. */
  readonly queuedBytes: () => number;
}

/** Options of an `Mp4Viewer`. */
interface Mp4ViewerOptions {
  readonly audio: 'aac' | 'none';
  readonly fragmentMs: number;
  /** Queue length at which a recording pauses its camera. */
  readonly maxQueueBytes: number;
  readonly nowMs: number;
}

/** Converts a stream to fragmented MP4 for a sink: an HLS playlist or a response. */
export class Mp4Viewer implements StreamViewer {
  readonly options: PlayOptions;
  readonly joinedAtMs: number;
  readonly counters: ViewerCounters = { sentTags: 0, droppedTags: 0, sentBytes: 0 };
  onDrain: () => void = () => undefined;
  onStart: () => void = () => undefined;
  onNoMedia: (endReason?: EndReason) => void = () => undefined;
  readonly #sink: Mp4Sink;
  readonly #fragmentMs: number;
  readonly #maxQueueBytes: number;
  #tracks: Tracks | null = null;
  #fragmenter: Mp4Fragmenter | null = null;
  #needsKeyFrame = true;
  #isClosed = false;

  constructor(options: Mp4ViewerOptions, sink: Mp4Sink) {
    this.options = { audio: options.audio, isLegacyHevc: false };
    this.joinedAtMs = options.nowMs;
    this.#fragmentMs = options.fragmentMs;
    this.#maxQueueBytes = options.maxQueueBytes;
    this.#sink = sink;
  }

  get tracks(): Tracks | null {
    return this.#tracks;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isFinished(): boolean {
    return this.#isClosed;
  }

  get queuedBytes(): number {
    return this.#sink.queuedBytes();
  }

  get isFull(): boolean {
    return this.queuedBytes >= this.#maxQueueBytes;
  }

  get isHalfFull(): boolean {
    return this.queuedBytes >= this.#maxQueueBytes / 2;
  }

  start(tracks: Tracks, _first: FirstTags, _nowMs: number, pushCached: () => void): void {
    this.#tracks = tracks;
    this.#fragmenter = new Mp4Fragmenter({
      tracks,
      fragmentMs: this.#fragmentMs,
      onInit: (init) => this.#sink.onInit(init),
      onFragment: (fragment) => {
        for (const { length } of fragment.data) this.counters.sentBytes += length;
        this.#sink.onFragment(fragment);
      },
    });
    this.onStart();
    pushCached();
  }

  push(tag: FlvTag, headers: SequenceHeaders, _chunkCache: ChunkCache, _nowMs: number): void {
    if (this.#isClosed || this.#fragmenter === null) return;
    if (tag.track === 'video') {
      if (this.#needsKeyFrame && !tag.isKeyFrame) {
        this.counters.droppedTags += 1;
        return;
      }
      this.#needsKeyFrame = false;
    }
    this.counters.sentTags += 1;
    this.#fragmenter.push(tag, headers);
  }

  awaitKeyFrame(): void {
    this.#needsKeyFrame = true;
  }

  end(reason: EndReason): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sink.onEnding?.();
    this.#fragmenter?.flush();
    this.#sink.onEnd(reason);
  }

  destroy(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sink.onEnd();
  }

  checkStalled(): boolean {
    return false;
  }
}
