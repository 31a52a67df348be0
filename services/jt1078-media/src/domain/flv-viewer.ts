import type { Socket } from 'node:net';
import { createFlvHeader, type FlvTag } from '@fleet/jt1078';
import type { EndReason } from './end-reason.ts';
import {
  type ChunkCache,
  type ChunkFormat,
  createLastChunk,
  encodeTags,
  type TimedTag,
  toChunk,
} from './flv-chunks.ts';
import type { SequenceHeaders } from './gop-cache.ts';
import type { PlayOptions, Tracks } from './play-options.ts';
import type { FirstTags, StreamViewer, ViewerCounters } from './stream-viewer.ts';

/** Limits of a slow viewer. */
export interface ViewerLimits {
  /** Live: lag above which frames are dropped up to the next key frame. Null: never drop (recordings). */
  readonly dropAfterMs: number | null;
  /** Time without progress after which the viewer is closed. */
  readonly closeAfterMs: number;
  /** Live: queue length that counts as lagging, whatever its age. Recordings: queue length that counts as full. */
  readonly maxQueueBytes: number;
}

interface QueuedTag extends TimedTag {
  readonly queuedAtMs: number;
}

/** How a viewer reads a stream. */
interface FlvViewerOptions extends PlayOptions {
  readonly isChunked: boolean;
  readonly nowMs: number;
  /** Timestamp at which a response of another pod continues: without a second FLV header. Null for a new response. */
  readonly resumeAtMs?: number | null;
}

/** Distance between the last tag of one pod and the first of the next: about one picture. */
const continuationGapMs = 40;

/** Maximum size of one write from the queue. */
const batchBytes = 256 * 1024;

/**
 * Serves one FLV response. Writes chunks to the socket directly, bypassing Node's HTTP response, so that a tag costs
 * one write. Tags that the socket does not accept are queued and shared between viewers. The queue of live video is
 * bounded: once it is too old or too long, frames are dropped up to the next key frame.
 */
export class FlvViewer implements StreamViewer {
  readonly options: PlayOptions;
  readonly joinedAtMs: number;
  readonly counters: ViewerCounters = { sentTags: 0, droppedTags: 0, sentBytes: 0 };
  /** Called when the socket accepts more data, so that a paused camera may resume. */
  onDrain: () => void = () => undefined;
  /** Called right before the first byte, which lets the response head share its packet. */
  onStart: () => void = () => undefined;
  /** Called instead of `onStart` when there is nothing to play. */
  onNoMedia: (endReason?: EndReason) => void = () => undefined;
  readonly #socket: Socket;
  readonly #format: ChunkFormat;
  readonly #limits: ViewerLimits;
  readonly #resumeAtMs: number | null;
  /** Highest timestamp of a tag so far. */
  #lastTimestampMs = 0;
  #tracks: Tracks | null = null;
  #baseTimestampMs: number | null = null;
  #videoHeader: FlvTag | null = null;
  #audioHeader: FlvTag | null = null;
  /** Header of the declared AAC, which may precede its first frame by a second. */
  #nextAudioHeader: FlvTag | null = null;
  #needsKeyFrame = true;
  #queue: QueuedTag[] = [];
  #queuedBytes = 0;
  /** Time since which the socket has accepted nothing; null while it is not blocked. */
  #blockedSinceMs: number | null = null;
  #endReason: EndReason | null = null;
  #isClosed = false;

  constructor(socket: Socket, options: FlvViewerOptions, limits: ViewerLimits) {
    this.#socket = socket;
    this.options = options;
    this.#format = { isChunked: options.isChunked, isLegacyHevc: options.isLegacyHevc };
    this.joinedAtMs = options.nowMs;
    this.#limits = limits;
    this.#resumeAtMs = options.resumeAtMs ?? null;
    socket.on('drain', () => this.#onDrain());
  }

  /** Declared tracks; null before the start. */
  get tracks(): Tracks | null {
    return this.#tracks;
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#endReason !== null;
  }

  /** True once the response was sent completely or aborted. */
  get isFinished(): boolean {
    return this.#isClosed;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** True when the next tag of a recording should wait. */
  get isFull(): boolean {
    return this.#queuedBytes >= this.#limits.maxQueueBytes;
  }

  /** True while a paused recording should stay paused, which avoids a pause with every tag. */
  get isHalfFull(): boolean {
    return this.#queuedBytes >= this.#limits.maxQueueBytes / 2;
  }

  /**
   * Writes the FLV header and metadata, followed in the same packet by the tags that `pushCached` adds: sequence
   * headers and cached pictures.
   */
  start(tracks: Tracks, { metadata, audioHeader }: FirstTags, nowMs: number, pushCached: () => void): void {
    this.#tracks = tracks;
    this.#nextAudioHeader = tracks.audio ? audioHeader : null;
    this.#socket.cork();
    this.onStart();
    if (this.#resumeAtMs === null) {
      const header = encodeTags([{ tag: metadata, timestampMs: 0 }], { isChunked: false, isLegacyHevc: false });
      this.#write(toChunk(Buffer.concat([createFlvHeader(tracks), header]), this.#format.isChunked), 1, nowMs);
    }
    // Marked as blocked, so that pushed tags collect in the queue and leave in few large writes.
    this.#blockedSinceMs = nowMs;
    pushCached();
    this.#blockedSinceMs = null;
    this.#flush();
    this.#socket.uncork();
  }

  /**
   * Sends or queues a tag of a declared track, unless a key frame is needed first. `headers` are the sequence headers
   * of the tag.
   */
  push(tag: FlvTag, headers: SequenceHeaders, chunkCache: ChunkCache, nowMs: number): void {
    const tracks = this.#tracks;
    // Headers are sent before the tag that needs them, and only if this viewer does not have them.
    if (tracks === null || this.isClosed || tag.isSequenceHeader) return;
    if (tag.track === 'video' ? !tracks.video : !tracks.audio) return;
    if (this.#queue.length > 0) this.#limitQueue(nowMs);
    if (tracks.video && this.#needsKeyFrame && !tag.isKeyFrame) {
      if (this.#baseTimestampMs !== null) this.counters.droppedTags += 1;
      return;
    }
    this.#needsKeyFrame = false;
    this.#baseTimestampMs ??= tag.timestampMs - (this.#resumeAtMs ?? 0);
    if (tag.track === 'video') this.#pushVideo(tag, headers.video, chunkCache, nowMs);
    else this.#pushAudio(tag, headers.audio, chunkCache, nowMs);
  }

  /** Requires a key frame, after its sequence header, because the camera has a new connection. */
  awaitKeyFrame(): void {
    this.#needsKeyFrame = true;
    this.#videoHeader = null;
  }

  /** Finishes the response once the queue has been sent. */
  end(reason: EndReason): void {
    if (this.isClosed) return;
    this.#endReason = reason;
    if (this.#queue.length === 0) this.#finish(reason);
  }

  /** Aborts the response. */
  destroy(): void {
    this.#isClosed = true;
    this.#dropQueue();
    this.#socket.destroy();
  }

  /** Closes a viewer that made no progress. Returns true if it did. */
  checkStalled(nowMs: number): boolean {
    if (this.#isClosed || this.#blockedSinceMs === null) return false;
    if (nowMs - this.#blockedSinceMs < this.#limits.closeAfterMs) return false;
    this.destroy();
    return true;
  }

  #pushVideo(tag: FlvTag, header: FlvTag | null, chunkCache: ChunkCache, nowMs: number): void {
    if (this.#dropIfDisposable(tag, nowMs)) return;
    if (tag.isKeyFrame && header !== null && header !== this.#videoHeader) {
      this.#videoHeader = header;
      this.#send(header, tag.timestampMs, chunkCache, nowMs);
      if (this.#audioHeader === null) this.#sendAudioHeader(this.#nextAudioHeader, tag, chunkCache, nowMs);
    }
    this.#send(tag, tag.timestampMs, chunkCache, nowMs);
  }

  #pushAudio(tag: FlvTag, header: FlvTag | null, chunkCache: ChunkCache, nowMs: number): void {
    // Audio from before the first picture, which the transcoder emits late.
    if (tag.timestampMs - (this.#resumeAtMs ?? 0) < (this.#baseTimestampMs ?? 0)) return;
    if (header !== this.#audioHeader && header?.track === tag.track)
      this.#sendAudioHeader(header, tag, chunkCache, nowMs);
    this.#send(tag, tag.timestampMs, chunkCache, nowMs);
  }

  /** Sends a header of the audio before a tag. Browsers add no track once they have got a video header and pictures. */
  #sendAudioHeader(header: FlvTag | null, { timestampMs }: FlvTag, chunkCache: ChunkCache, nowMs: number): void {
    if (header === null) return;
    this.#audioHeader = header;
    this.#nextAudioHeader = header;
    this.#send(header, timestampMs, chunkCache, nowMs);
  }

  #send(tag: FlvTag, streamTimestampMs: number, chunkCache: ChunkCache, nowMs: number): void {
    const timestampMs = Math.max(0, streamTimestampMs - (this.#baseTimestampMs ?? 0));
    this.#lastTimestampMs = Math.max(this.#lastTimestampMs, timestampMs);
    if (this.#blockedSinceMs === null) {
      this.#write(chunkCache.get(tag, timestampMs, this.#format), 1, nowMs);
      return;
    }
    this.#queue.push({ tag, timestampMs, queuedAtMs: nowMs });
    this.#queuedBytes += tag.wire.length;
  }

  #write(chunk: Buffer, tagCount: number, nowMs: number): void {
    this.counters.sentTags += tagCount;
    this.counters.sentBytes += chunk.length;
    if (!this.#socket.write(chunk) && this.#socket.writableLength > 0) this.#blockedSinceMs ??= nowMs;
  }

  #lagMs(nowMs: number): number {
    const oldest = this.#queue[0];
    return oldest === undefined ? 0 : nowMs - oldest.queuedAtMs;
  }

  // First measure: at half of the permitted lag, disposable pictures (referenced by no other) are dropped.
  #dropIfDisposable(tag: FlvTag, nowMs: number): boolean {
    const { dropAfterMs } = this.#limits;
    if (!tag.isDisposable || dropAfterMs === null || this.#lagMs(nowMs) < dropAfterMs / 2) return false;
    this.counters.droppedTags += 1;
    return true;
  }

  // Live: drops a queue that is too old or too long. Video resumes with the next key frame.
  #limitQueue(nowMs: number): void {
    const { dropAfterMs, maxQueueBytes } = this.#limits;
    if (dropAfterMs === null) return;
    if (this.#lagMs(nowMs) < dropAfterMs && this.#queuedBytes < maxQueueBytes) return;
    this.counters.droppedTags += this.#queue.length;
    this.#dropQueue();
    this.#needsKeyFrame = true;
    // The dropped tags may have included headers.
    this.#videoHeader = null;
    this.#audioHeader = null;
  }

  #dropQueue(): void {
    this.#queue = [];
    this.#queuedBytes = 0;
  }

  #onDrain(): void {
    if (this.#isClosed) return;
    this.#blockedSinceMs = null;
    this.#flush();
    if (this.#endReason !== null && this.#queue.length === 0) this.#finish(this.#endReason);
    this.onDrain();
  }

  #flush(): void {
    let sentCount = 0;
    while (sentCount < this.#queue.length && this.#blockedSinceMs === null) {
      const batchStart = sentCount;
      let bytes = 0;
      while (sentCount < this.#queue.length && bytes < batchBytes) {
        bytes += this.#queue[sentCount]?.tag.wire.length ?? 0;
        sentCount += 1;
      }
      this.#queuedBytes -= bytes;
      this.#write(
        encodeTags(this.#queue.slice(batchStart, sentCount), this.#format),
        sentCount - batchStart,
        performance.now(),
      );
    }
    if (sentCount === this.#queue.length) this.#queue = [];
    else this.#queue.splice(0, sentCount);
  }

  #finish(reason: EndReason): void {
    this.#isClosed = true;
    if (this.#format.isChunked) this.#socket.write(createLastChunk(reason, this.#lastTimestampMs + continuationGapMs));
    this.#socket.destroySoon();
  }
}
