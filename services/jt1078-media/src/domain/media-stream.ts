import { type AacFormat, type FlvTag, type MediaFrame, StreamMuxer, type TimestampSource } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';
import { outputSampleRate } from '../transcode/ffmpeg-transcoder.ts';
import { StreamAudio } from '../transcode/stream-audio.ts';
import type { Transcoders } from '../transcode/transcoders.ts';
import { DiscontinuityDetector } from './discontinuity-detector.ts';
import { ChunkCache } from './flv-chunks.ts';
import { GopCache, type SequenceHeaders } from './gop-cache.ts';
import { decideTracks, getRequestedMedia, type PlayOptions, type RequestedMedia, type Tracks } from './play-options.ts';
import type { Viewer } from './viewer.ts';

/** Connection of a camera, as seen by a stream. */
export interface CameraLink {
  readonly transport: 'tcp' | 'udp';
  readonly remote: string;
  /** Detaches the stream. A connection without another stream is closed after this time. */
  release(id: StreamId, reason: string, closeAfterMs: number): void;
  /** Stops reading a recording until `resume`. */
  pause(id: StreamId): void;
  resume(id: StreamId): void;
}

/** Timeouts and limits of a stream. */
export interface StreamLimits {
  readonly idleStopMs: number;
  readonly graceMs: number;
  readonly dataTimeoutMs: number;
  readonly firstFrameWaitMs: number;
  /** Limits of the cached group of pictures, and of the beginning of a recording that waits for its first viewer. */
  readonly maxCacheTags: number;
  readonly maxCacheBytes: number;
  /** Queue length of one recording viewer at which the camera is paused although other viewers could accept more. */
  readonly hardQueueBytes: number;
}

/** Returns the form of a terminal's AAC without ADTS; never rejects. */
export type FindAacFormat = (imei: string) => Promise<AacFormat>;

/** Reason why a stream ended. */
export type EndReason =
  | 'idle'
  | 'noData'
  | 'cameraLeft'
  | 'recordingEnded'
  | 'stopped'
  | 'takenOver'
  | 'replaced'
  | 'shutdown';

/** Counters of a stream, read by the metrics. */
export interface StreamCounters {
  packets: number;
  bytes: number;
  lostPackets: number;
  repeatedPackets: number;
  brokenFrames: number;
  droppedTags: number;
  reconnects: number;
}

/** Retention of an ended recording that was never watched, as its viewer may still be connecting. */
const unwatchedTtlMs = 5_000;
/** Time in which a viewer that waited for the first packet of the camera joins, unless it has left. */
const expectedViewerTimeoutMs = 2_000;
/** Minimum delay of closing a connection after a stop command, as the terminal may close it by itself. */
const closeAfterStopMs = 1_500;
/** Time without data after which a frame that waits for its successor is flushed. */
const flushDelayMs = 500;

/** One camera channel that streams to this pod: frames in, tags to viewers. Survives reconnects of the camera. */
export class MediaStream {
  readonly id: StreamId;
  readonly startedAtMs = performance.now();
  readonly counters: StreamCounters = {
    packets: 0,
    bytes: 0,
    lostPackets: 0,
    repeatedPackets: 0,
    brokenFrames: 0,
    droppedTags: 0,
    reconnects: 0,
  };
  claim: StreamClaim;
  isPaused = false;
  firstKeyFrameAtMs: number | null = null;
  readonly #limits: StreamLimits;
  readonly #log: Logger;
  readonly #viewers = new Set<Viewer>();
  readonly #muxer: StreamMuxer;
  readonly #cache: GopCache;
  readonly #audio: StreamAudio;
  readonly #chunkCache = new ChunkCache();
  #link: CameraLink | null = null;
  #headers: SequenceHeaders = { video: null, audio: null };
  #lastDataMs = performance.now();
  #disconnectedAtMs: number | null = null;
  #idleSinceMs: number = performance.now();
  #wasWatched = false;
  #waitingViewers = 0;
  /** True while a viewer that waited for the camera is expected to join. */
  #expectsViewer: boolean;
  #isBackpressured = false;
  #isFlushed = true;
  #pace: TimestampSource;
  readonly #discontinuityDetector: DiscontinuityDetector | null;
  /** Control command in progress: the pace after it, and whether its first frame has arrived. */
  #pendingControl: { readonly pace: TimestampSource; hasBegun: boolean } | null = null;

  constructor(
    id: StreamId,
    claim: StreamClaim,
    options: {
      limits: StreamLimits;
      transcoders: Transcoders;
      findAacFormat: FindAacFormat;
      log: Logger;
      expectsViewer: boolean;
    },
  ) {
    this.id = id;
    this.claim = claim;
    this.#limits = options.limits;
    this.#log = options.log;
    this.#cache = new GopCache({ maxTags: options.limits.maxCacheTags, maxBytes: options.limits.maxCacheBytes });
    this.#expectsViewer = options.expectsViewer;
    this.#discontinuityDetector = id.kind === 'history' ? new DiscontinuityDetector() : null;
    this.#pace = claim.request?.pace ?? 'device';
    this.#updateCacheMode();
    this.#audio = new StreamAudio({
      transcoders: options.transcoders,
      onAac: (frame, timestampMs) => this.#muxer.pushTranscodedAac(frame, timestampMs),
      log: options.log,
    });
    this.#muxer = new StreamMuxer({
      timestampSource: this.#pace,
      onTag: (tag) => this.#deliver(tag),
      onTranscode: (input) => this.#audio.push(input),
      onAacUnknown: () => void options.findAacFormat(id.imei).then((format) => this.#muxer.setAac(format)),
    });
  }

  get viewers(): ReadonlySet<Viewer> {
    return this.#viewers;
  }

  get muxer(): Pick<StreamMuxer, 'video' | 'audio' | 'counters'> {
    return this.#muxer;
  }

  get #requestedMedia(): RequestedMedia {
    return getRequestedMedia(this.id.kind, this.claim.request?.dataType ?? null);
  }

  /** Tags dropped for slow viewers, including the connected ones. */
  get droppedTags(): number {
    let dropped = this.counters.droppedTags;
    for (const viewer of this.#viewers) dropped += viewer.counters.droppedTags;
    return dropped;
  }

  get link(): CameraLink | null {
    return this.#link;
  }

  /** True while reading from the camera is paused because viewers are full. */
  get isBackpressured(): boolean {
    return this.#isBackpressured;
  }

  /** Attaches the connection of a camera and releases an older one. */
  attach(link: CameraLink): void {
    const previous = this.#link;
    const isFirst = previous === null && this.#disconnectedAtMs === null;
    this.#link = link;
    this.#disconnectedAtMs = null;
    this.#lastDataMs = performance.now();
    if (isFirst) return;
    this.counters.reconnects += 1;
    this.#log.info({ transport: link.transport, remote: link.remote }, 'camera reconnected');
    if (previous !== null && this.#isBackpressured) previous.resume(this.id);
    previous?.release(this.id, 'the camera has a new connection', 0);
    if (this.#isBackpressured) link.pause(this.id);
    this.#muxer.restart();
    for (const viewer of this.#viewers) viewer.awaitKeyFrame();
  }

  /** Detaches a closed connection. Returns false when another connection has replaced it. */
  detach(link: CameraLink): boolean {
    if (this.#link !== link) return false;
    this.#muxer.flush();
    this.#link = null;
    this.#disconnectedAtMs = performance.now();
    return true;
  }

  /** Records a seek or speed command that is being sent to the camera. Without `pace` the pace stays the same. */
  expectControl(pace: TimestampSource = this.#pace): void {
    this.#pendingControl = { pace, hasBegun: false };
    this.#discontinuityDetector?.expect(performance.now());
  }

  /** Handles the camera's confirmation of a command. Its first frame may arrive before or after it. */
  confirmControl(pace?: TimestampSource): void {
    if (this.#pendingControl?.hasBegun === true) {
      this.#pendingControl = null;
      return;
    }
    this.expectControl(pace);
    if (pace === undefined || pace === this.#pace) return;
    // Another speed at the same position: the pictures continue, only their clock changes.
    this.#pace = pace;
    this.#muxer.setTimestampSource(pace);
  }

  /** Handles a frame of the camera. Its data is valid only during the call. */
  push(frame: MediaFrame): void {
    // Some devices send audio although only video was requested, or the reverse. Players expect what was requested.
    const requestedMedia = this.#requestedMedia;
    if (requestedMedia !== 'any' && frame.kind !== requestedMedia) return;
    this.#isFlushed = false;
    if (this.#discontinuityDetector?.isDiscontinuity(frame) === true) this.#onDiscontinuity();
    this.#muxer.push(frame);
  }

  /** Counts packets, which prove that the camera is alive even if they complete no frame. */
  countPackets(packets: number, bytes: number, nowMs: number): void {
    this.counters.packets += packets;
    this.counters.bytes += bytes;
    this.#lastDataMs = nowMs;
  }

  /** Marks the stream as paused or resumed. No data is expected while paused. */
  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.#lastDataMs = performance.now();
  }

  /**
   * Adds a viewer, which starts as soon as its tracks are known. Calls `onNoMedia` when there is nothing for it to
   * play.
   */
  join(viewer: Viewer, callbacks: { onStart: () => void; onNoMedia: () => void }): void {
    this.#viewers.add(viewer);
    this.#waitingViewers += 1;
    this.#expectsViewer = false;
    this.#updateCacheMode();
    viewer.onStart = callbacks.onStart;
    viewer.onNoMedia = callbacks.onNoMedia;
    viewer.onDrain = () => this.#updateBackpressure();
    this.#tryStart(viewer, performance.now());
    this.#updateBackpressure();
  }

  /** Removes a viewer that left or was closed. */
  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    if (viewer.tracks === null) this.#waitingViewers -= 1;
    this.counters.droppedTags += viewer.counters.droppedTags;
    this.#updateListeners();
    if (this.#viewers.size === 0) this.#idleSinceMs = performance.now();
    this.#updateCacheMode();
    this.#updateBackpressure();
  }

  /** Checks timers and viewers; call it regularly. Returns a reason if the stream has to end. */
  check(nowMs: number): EndReason | null {
    if (!this.#isFlushed && nowMs - this.#lastDataMs >= flushDelayMs) {
      this.#isFlushed = true;
      this.#muxer.flush();
    }
    if (this.#expectsViewer && nowMs - this.startedAtMs >= expectedViewerTimeoutMs) {
      this.#expectsViewer = false;
      this.#updateCacheMode();
    }
    for (const viewer of this.#viewers) {
      if (viewer.checkStalled(nowMs))
        this.#log.info({ droppedTags: viewer.counters.droppedTags }, 'closed a stalled viewer');
      else if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
    }
    return this.#findEndReason(nowMs);
  }

  /** Finishes all responses and the transcoder. The owner has already removed the stream. */
  end(reason: EndReason): void {
    this.#muxer.flush();
    this.#audio.stop();
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null) viewer.onNoMedia();
      else viewer.end();
    }
    this.#link?.release(this.id, reason, closeAfterStopMs);
    this.#link = null;
  }

  #findEndReason(nowMs: number): EndReason | null {
    const { idleStopMs, graceMs, dataTimeoutMs } = this.#limits;
    const isLive = this.id.kind === 'live';
    if (this.#link === null && this.#disconnectedAtMs !== null) {
      const disconnectedMs = nowMs - this.#disconnectedAtMs;
      if (isLive && disconnectedMs >= graceMs) return 'cameraLeft';
      if (!isLive && (this.#wasWatched || disconnectedMs >= unwatchedTtlMs)) return 'recordingEnded';
    }
    if (this.#viewers.size === 0 && nowMs - this.#idleSinceMs >= idleStopMs) return 'idle';
    if (this.#link !== null && !this.isPaused && !this.#isBackpressured && nowMs - this.#lastDataMs >= dataTimeoutMs)
      return 'noData';
    return null;
  }

  /** Continues the recording at its new position, which begins with a key frame. Viewers get no gap. */
  #onDiscontinuity(): void {
    if (this.#pendingControl !== null) {
      this.#pace = this.#pendingControl.pace;
      this.#pendingControl.hasBegun = true;
    }
    this.#muxer.restart({ timestampSource: this.#pace });
    if (this.#viewers.size > 0) return;
    // Later viewers begin at the new position.
    this.#cache.clear();
    this.#updateBackpressure();
  }

  #deliver(tag: FlvTag): void {
    if (tag.isSequenceHeader) {
      if (tag.track === 'video') this.#headers = { ...this.#headers, video: tag };
      else if (tag.track === 'audio') this.#headers = { ...this.#headers, audio: tag };
      return;
    }
    const nowMs = performance.now();
    if (tag.isKeyFrame && tag.track === 'video') {
      this.firstKeyFrameAtMs ??= nowMs;
      this.#audio.clearRecent();
    }
    this.#cache.add(tag, this.#headers);
    if (this.id.kind === 'live' && this.#cache.bytes > this.#limits.maxCacheBytes) this.#cache.retainAll = false;
    for (const viewer of this.#viewers)
      if (this.#shouldReceive(viewer, tag)) viewer.push(tag, this.#headers, this.#chunkCache, nowMs);
    if (this.#waitingViewers > 0) this.#tryStartWaiting(nowMs);
    if (this.id.kind === 'history') this.#updateBackpressure();
  }

  #shouldReceive(viewer: Viewer, tag: FlvTag): boolean {
    if (tag.track === 'video') return true;
    const isCopy = viewer.options.audio === 'copy' && this.#muxer.audio?.needsTranscoding === true;
    return tag.track === (isCopy ? 'audioCopy' : 'audio');
  }

  #tryStartWaiting(nowMs: number): void {
    for (const viewer of this.#viewers) if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
  }

  #tryStart(viewer: Viewer, nowMs: number): void {
    if (viewer.isClosed) return;
    const tracks = decideTracks({
      requestedMedia: this.#requestedMedia,
      audioMode: viewer.options.audio,
      sinceKeyFrameMs: this.firstKeyFrameAtMs === null ? null : nowMs - this.firstKeyFrameAtMs,
      isAudioPlayable: this.#isAudioPlayable(viewer.options),
      isAudioAwaited: this.#muxer.isAacAwaited,
      waitedMs: nowMs - viewer.joinedAtMs,
      firstFrameWaitMs: this.#limits.firstFrameWaitMs,
    });
    if (tracks === 'wait') return;
    if (tracks === 'none') viewer.onNoMedia();
    else this.#start(viewer, tracks, nowMs);
  }

  #start(viewer: Viewer, tracks: Tracks, nowMs: number): void {
    this.#waitingViewers -= 1;
    this.#wasWatched = true;
    const metadata = this.#muxer.createMetadata({
      audio: tracks.audio ? viewer.options.audio : 'none',
      legacyHevc: viewer.options.isLegacyHevc,
      transcodedSampleRate: outputSampleRate,
    });
    viewer.start(tracks, metadata, nowMs, () => {
      for (const { tag, headers } of this.#cache.tags)
        if (this.#shouldReceive(viewer, tag)) viewer.push(tag, headers, this.#chunkCache, nowMs);
    });
    this.#updateCacheMode();
    this.#updateListeners();
  }

  #isAudioPlayable({ audio: mode }: PlayOptions): boolean | null {
    const source = this.#muxer.audio;
    if (source === null) return null;
    if (mode === 'none') return false;
    if (!source.needsTranscoding) return true;
    return mode === 'copy' ? source.canCopy : this.#audio.isAvailable;
  }

  /** Retains everything for a viewer that waits for its start, and all of a recording without viewers. */
  #updateCacheMode(): void {
    const isUnwatched = this.#viewers.size === 0;
    this.#cache.retainAll =
      this.#waitingViewers > 0 || this.#expectsViewer || (isUnwatched && this.id.kind === 'history');
  }

  #updateListeners(): void {
    let listeners = 0;
    for (const viewer of this.#viewers) if (viewer.tracks?.audio && viewer.options.audio === 'aac') listeners += 1;
    this.#audio.listeners = listeners;
  }

  /** Pauses or resumes the camera of a recording, as recordings never drop frames. */
  #updateBackpressure(): void {
    if (this.id.kind !== 'history') return;
    const isBackpressured = this.#needsBackpressure();
    if (isBackpressured === this.#isBackpressured) return;
    this.#isBackpressured = isBackpressured;
    this.#lastDataMs = performance.now();
    if (isBackpressured) this.#link?.pause(this.id);
    else this.#link?.resume(this.id);
  }

  #needsBackpressure(): boolean {
    let hasRoom = false;
    let isOverfull = false;
    let startedViewers = 0;
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null || viewer.isClosed) continue;
      startedViewers += 1;
      // A paused camera resumes at half of the limit, which avoids a pause with every tag.
      if (!(this.#isBackpressured ? viewer.isHalfFull : viewer.isFull)) hasRoom = true;
      if (viewer.queuedBytes >= this.#limits.hardQueueBytes) isOverfull = true;
    }
    if (startedViewers === 0) return this.#cache.bytes >= this.#limits.maxCacheBytes;
    return !hasRoom || isOverfull;
  }
}
