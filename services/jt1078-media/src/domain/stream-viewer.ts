import type { FlvTag } from '@fleet/jt1078';
import type { EndReason } from './end-reason.ts';
import type { ChunkCache } from './flv-chunks.ts';
import type { SequenceHeaders } from './gop-cache.ts';
import type { PlayOptions, Tracks } from './play-options.ts';

/** Counters of a viewer, read by the metrics. */
export interface ViewerCounters {
  sentTags: number;
  droppedTags: number;
  sentBytes: number;
}

/** Tags at the start of an output. */
export interface FirstTags {
  readonly metadata: FlvTag;
  /** Sequence header of the AAC that follows; null for other audio. */
  readonly audioHeader: FlvTag | null;
}

/** One output of a stream: an FLV response, or fragments of MP4. */
export interface StreamViewer {
  readonly options: PlayOptions;
  readonly joinedAtMs: number;
  readonly counters: ViewerCounters;
  /** Declared tracks; null before the start. */
  readonly tracks: Tracks | null;
  readonly isClosed: boolean;
  /** True once everything was sent or the output was aborted. */
  readonly isFinished: boolean;
  readonly queuedBytes: number;
  /** True when the next tag of a recording should wait. */
  readonly isFull: boolean;
  /** True while a paused recording should stay paused, which avoids a pause with every tag. */
  readonly isHalfFull: boolean;
  /** Called when the output accepts more data, so that a paused camera may resume. */
  onDrain: () => void;
  /** Called right before the first byte. */
  onStart: () => void;
  /** Called instead of `onStart` when there is nothing to play, with the reason of an end. */
  onNoMedia: (endReason?: EndReason) => void;
  /** Starts the output with its tracks; `pushCached` pushes the cached tags. */
  start(tracks: Tracks, first: FirstTags, nowMs: number, pushCached: () => void): void;
  /** Handles a tag; `headers` are the sequence headers that apply to it. */
  push(tag: FlvTag, headers: SequenceHeaders, chunkCache: ChunkCache, nowMs: number): void;
  /** Requires a key frame, because the camera has a new connection. */
  awaitKeyFrame(): void;
  /** Finishes the output once the queue has been sent. */
  end(reason: EndReason): void;
  /** Aborts the output. */
  destroy(): void;
  /** Closes an output that made no progress. Returns true if it did. */
  checkStalled(nowMs: number): boolean;
}
