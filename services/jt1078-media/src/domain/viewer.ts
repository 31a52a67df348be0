import type { Socket } from 'node:net';
import { createFlvHeader, type FlvTag } from '@fleet/jt1078';
import { type ChunkCache, type ChunkFormat, encodeTags, lastChunk, type TimedTag, toChunk } from './flv-chunks.ts';
import type { SequenceHeaders } from './gop-cache.ts';
import type { PlayOptions, Tracks } from './play-options.ts';

/** When a viewer that does not keep up is helped, and when it is given up. */
export interface ViewerLimits {
  /** Live: so far behind it loses frames up to the next key frame. Null: never (recordings). */
  readonly dropAfterMs: number | null;
  /** Nothing taken for so long closes it. */
  readonly closeAfterMs: number;
  /** Live: a queue of so many bytes is behind, whatever its age. Recordings: it is full. */
  readonly maxQueueBytes: number;
}

/** What a viewer has got; read by metrics. */
export interface ViewerCounters {
  sentTags: number;
  droppedTags: number;
  sentBytes: number;
}

interface QueuedTag extends TimedTag {
  readonly queuedAtMs: number;
}

/** One write takes so much from a queue. */
const batchBytes = 256 * 1024;

/**
 * One response. Writes to the socket beside Node's HTTP response, in chunks of its own making, so that a tag costs one write; what the socket does not
 * take stays here as shared tags, bounded for live video, and is shortened to the next key frame when it gets old.
 */
export class Viewer {
  readonly options: PlayOptions;
  readonly joinedAtMs: number;
  readonly counters: ViewerCounters = { sentTags: 0, droppedTags: 0, sentBytes: 0 };
  /** Called when the socket took more, so that a camera that waits may go on. */
  onDrain: () => void = () => undefined;
  /** Called right before the first byte, so that the response's head goes out with it. */
  onStart: () => void = () => undefined;
  /** Called in place of `onStart` when there is nothing to play. */
  onNoMedia: () => void = () => undefined;
  readonly #socket: Socket;
  readonly #format: ChunkFormat;
  readonly #limits: ViewerLimits;
  #tracks: Tracks | null = null;
  #baseTimestampMs: number | null = null;
  #videoHeader: FlvTag | null = null;
  #audioHeader: FlvTag | null = null;
  #needsKeyFrame = true;
  #queue: QueuedTag[] = [];
  #queuedBytes = 0;
  /** Since when the socket has taken nothing; null while it takes all. */
  #blockedSinceMs: number | null = null;
  #isEnding = false;
  #isClosed = false;

  constructor(
    socket: Socket,
    options: PlayOptions & { readonly isChunked: boolean; readonly nowMs: number },
    limits: ViewerLimits,
  ) {
    this.#socket = socket;
    this.options = options;
    this.#format = { isChunked: options.isChunked, isLegacyHevc: options.isLegacyHevc };
    this.joinedAtMs = options.nowMs;
    this.#limits = limits;
    socket.on('drain', () => this.#onDrain());
  }

  /** The tracks it was promised; null before it has been. */
  get tracks(): Tracks | null {
    return this.#tracks;
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#isEnding;
  }

  /** True once the response has gone out whole or was broken off. */
  get isFinished(): boolean {
    return this.#isClosed;
  }

  get queuedBytes(): number {
    return this.#queuedBytes;
  }

  /** True when a recording's next tag had better wait. */
  get isFull(): boolean {
    return this.#queuedBytes >= this.#limits.maxQueueBytes;
  }

  /** True while a recording that waits should go on waiting: not to stop and go with every tag. */
  get isHalfFull(): boolean {
    return this.#queuedBytes >= this.#limits.maxQueueBytes / 2;
  }

  /** Writes the FLV header and metadata, and with them, in one packet, what `rest` pushes: sequence headers and the cached pictures. */
  start(tracks: Tracks, metadata: FlvTag, nowMs: number, pushCached: () => void): void {
    this.#tracks = tracks;
    this.#socket.cork();
    this.onStart();
    const header = encodeTags([{ tag: metadata, timestampMs: 0 }], { isChunked: false, isLegacyHevc: false });
    this.#write(toChunk(Buffer.concat([createFlvHeader(tracks), header]), this.#format.isChunked), 1, nowMs);
    // As if the socket were full: what is pushed gathers in the queue and goes out in few large writes.
    this.#blockedSinceMs = nowMs;
    pushCached();
    this.#blockedSinceMs = null;
    this.#flush();
    this.#socket.uncork();
  }

  /** Takes a tag of one of its tracks, unless it has to wait for a key frame. `headers` are those that stand before it. */
  push(tag: FlvTag, headers: SequenceHeaders, chunkCache: ChunkCache, nowMs: number): void {
    const tracks = this.#tracks;
    // Headers go out before the tag that needs them, and only when they are news to this viewer.
    if (tracks === null || this.isClosed || tag.isSequenceHeader) return;
    if (tag.track === 'video' ? !tracks.video : !tracks.audio) return;
    if (this.#queue.length > 0) this.#limitQueue(nowMs);
    if (tracks.video && this.#needsKeyFrame && !tag.isKeyFrame) {
      if (this.#baseTimestampMs !== null) this.counters.droppedTags += 1;
      return;
    }
    this.#needsKeyFrame = false;
    this.#baseTimestampMs ??= tag.timestampMs;
    if (tag.track === 'video') this.#pushVideo(tag, headers.video, chunkCache, nowMs);
    else this.#pushAudio(tag, headers.audio, chunkCache, nowMs);
  }

  /** The camera's connection is a new one: pictures go on with a key frame, after its sequence header. */
  awaitKeyFrame(): void {
    this.#needsKeyFrame = true;
    this.#videoHeader = null;
  }

  /** Finishes the response once all that is queued has gone out. */
  end(): void {
    if (this.isClosed) return;
    this.#isEnding = true;
    if (this.#queue.length === 0) this.#finish();
  }

  /** Breaks the response off. */
  destroy(): void {
    this.#isClosed = true;
    this.#dropQueue();
    this.#socket.destroy();
  }

  /** Closes a viewer that takes nothing; true when it did. */
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
    }
    this.#send(tag, tag.timestampMs, chunkCache, nowMs);
  }

  #pushAudio(tag: FlvTag, header: FlvTag | null, chunkCache: ChunkCache, nowMs: number): void {
    // Sound from before the first picture, which comes late out of the transcoder.
    if (tag.timestampMs < (this.#baseTimestampMs ?? 0)) return;
    if (header !== null && header !== this.#audioHeader && header.track === tag.track) {
      this.#audioHeader = header;
      this.#send(header, tag.timestampMs, chunkCache, nowMs);
    }
    this.#send(tag, tag.timestampMs, chunkCache, nowMs);
  }

  #send(tag: FlvTag, streamTimestampMs: number, chunkCache: ChunkCache, nowMs: number): void {
    const timestampMs = Math.max(0, streamTimestampMs - (this.#baseTimestampMs ?? 0));
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

  /** The cheap step first: a viewer half as far behind as it may be gets no pictures that no other refers to. */
  #dropIfDisposable(tag: FlvTag, nowMs: number): boolean {
    const { dropAfterMs } = this.#limits;
    if (!tag.isDisposable || dropAfterMs === null || this.#lagMs(nowMs) < dropAfterMs / 2) return false;
    this.counters.droppedTags += 1;
    return true;
  }

  /** Live: what is queued for too long, or too much of it, goes; pictures start again with the next key frame. */
  #limitQueue(nowMs: number): void {
    const { dropAfterMs, maxQueueBytes } = this.#limits;
    if (dropAfterMs === null) return;
    if (this.#lagMs(nowMs) < dropAfterMs && this.#queuedBytes < maxQueueBytes) return;
    this.counters.droppedTags += this.#queue.length;
    this.#dropQueue();
    this.#needsKeyFrame = true;
    // They may have been among what was dropped.
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
    if (this.#isEnding && this.#queue.length === 0) this.#finish();
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

  #finish(): void {
    this.#isClosed = true;
    if (this.#format.isChunked) this.#socket.write(lastChunk);
    this.#socket.destroySoon();
  }
}
