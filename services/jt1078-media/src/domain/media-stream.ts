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

/** A camera's connection, as a stream sees it. */
export interface CameraLink {
  readonly transport: 'tcp' | 'udp';
  readonly remote: string;
  /** The stream needs the connection no more; when no other does, it is closed after this time. */
  release(id: StreamId, reason: string, closeAfterMs: number): void;
  /** Recordings: stop and go on reading. */
  pause(id: StreamId): void;
  resume(id: StreamId): void;
}

/** Times and bounds of a stream. */
export interface StreamLimits {
  readonly idleStopMs: number;
  readonly graceMs: number;
  readonly dataTimeoutMs: number;
  readonly firstFrameWaitMs: number;
  /** Bounds of the cached group of pictures, and of a recording's beginning that waits for its first viewer. */
  readonly maxCacheTags: number;
  readonly maxCacheBytes: number;
  /** Recordings: with so much queued for one viewer the camera waits although others could take more. */
  readonly hardQueueBytes: number;
}

/** Returns the form of a terminal's AAC without ADTS; never rejects. */
export type FindAacFormat = (imei: string) => Promise<AacFormat>;

/** Why a stream has ended. */
export type EndReason =
  | 'idle'
  | 'noData'
  | 'cameraLeft'
  | 'recordingEnded'
  | 'stopped'
  | 'takenOver'
  | 'replaced'
  | 'shutdown';

/** What a stream has seen; read by metrics. */
export interface StreamCounters {
  packets: number;
  bytes: number;
  lostPackets: number;
  repeatedPackets: number;
  brokenFrames: number;
  droppedTags: number;
  reconnects: number;
}

/** A recording that nobody has watched stays for so long after its end: its viewer may just be on the way. */
const unwatchedTtlMs = 5_000;
/** A viewer that waited for the camera's first packet joins at once, or has gone. */
const expectedViewerTimeoutMs = 2_000;
/** After a stop command a connection is closed no sooner: the terminal may close it by itself. */
const closeAfterStopMs = 1_500;
/** A frame that waits for its successor waits no longer once the camera is quiet. */
const flushDelayMs = 500;

/** One camera channel that streams here: frames in, tags to viewers. Lives through reconnects of the camera. */
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
  /** Somebody waited for the camera: a viewer is on its way. */
  #expectsViewer: boolean;
  #isBackpressured = false;
  #isFlushed = true;
  #pace: TimestampSource;
  readonly #discontinuityDetector: DiscontinuityDetector | null;
  /** A control that its camera is being asked for: with which pace the recording goes on, and whether it has begun to. */
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

  /** Tags that slow viewers did not get, those that are still here included. */
  get droppedTags(): number {
    let dropped = this.counters.droppedTags;
    for (const viewer of this.#viewers) dropped += viewer.counters.droppedTags;
    return dropped;
  }

  get link(): CameraLink | null {
    return this.#link;
  }

  /** True while reading from the camera is stopped for the viewers' sake. */
  get isBackpressured(): boolean {
    return this.#isBackpressured;
  }

  /** A camera's connection brings this stream from now on; an older one is left. */
  attach(link: CameraLink): void {
    const previous = this.#link;
    const isFirst = previous === null && this.#disconnectedAtMs === null;
    this.#link = link;
    this.#disconnectedAtMs = null;
    this.#lastDataMs = performance.now();
    if (isFirst) return;
    this.counters.reconnects += 1;
    this.#log.info({ transport: link.transport, remote: link.remote }, 'the camera has reconnected');
    if (previous !== null && this.#isBackpressured) previous.resume(this.id);
    previous?.release(this.id, 'the camera has a new connection', 0);
    if (this.#isBackpressured) link.pause(this.id);
    this.#muxer.restart();
    for (const viewer of this.#viewers) viewer.awaitKeyFrame();
  }

  /** The connection is gone; false when another has taken its place. */
  detach(link: CameraLink): boolean {
    if (this.#link !== link) return false;
    this.#muxer.flush();
    this.#link = null;
    this.#disconnectedAtMs = performance.now();
    return true;
  }

  /** The camera is being asked to go on at another place or speed; without a pace at the same. */
  expectControl(pace: TimestampSource = this.#pace): void {
    this.#pendingControl = { pace, hasBegun: false };
    this.#discontinuityDetector?.expect(performance.now());
  }

  /** The camera has said that it does. Where its frames have not shown it yet, they may still. */
  confirmControl(pace?: TimestampSource): void {
    if (this.#pendingControl?.hasBegun === true) {
      this.#pendingControl = null;
      return;
    }
    this.expectControl(pace);
    if (pace === undefined || pace === this.#pace) return;
    // Another speed at the same place: the pictures go on, only their clock is another one.
    this.#pace = pace;
    this.#muxer.setTimestampSource(pace);
  }

  /** A frame from the camera, whose data is valid only during the call. */
  push(frame: MediaFrame): void {
    // Some devices send sound although pictures alone were asked for, and the reverse: players are promised what was asked for.
    const requestedMedia = this.#requestedMedia;
    if (requestedMedia !== 'any' && frame.kind !== requestedMedia) return;
    this.#isFlushed = false;
    if (this.#discontinuityDetector?.isDiscontinuity(frame) === true) this.#onDiscontinuity();
    this.#muxer.push(frame);
  }

  /** Counts packets; they say that the camera is alive even if no frame comes of them. */
  countPackets(packets: number, bytes: number, nowMs: number): void {
    this.counters.packets += packets;
    this.counters.bytes += bytes;
    this.#lastDataMs = nowMs;
  }

  /** The camera was paused or goes on: while paused no data is expected. */
  setPaused(isPaused: boolean): void {
    this.isPaused = isPaused;
    this.#lastDataMs = performance.now();
  }

  /** Adds a viewer; it starts as soon as its tracks are known. `onNothing` is called when there is nothing for it to play. */
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

  /** Removes a viewer, whether it left by itself or was closed. */
  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    if (viewer.tracks === null) this.#waitingViewers -= 1;
    this.counters.droppedTags += viewer.counters.droppedTags;
    this.#updateListeners();
    if (this.#viewers.size === 0) this.#idleSinceMs = performance.now();
    this.#updateCacheMode();
    this.#updateBackpressure();
  }

  /** Regular look at timers and viewers; the reason if the stream has to end. */
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
        this.#log.info({ droppedTags: viewer.counters.droppedTags }, 'a stalled viewer was closed');
      else if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
    }
    return this.#findEndReason(nowMs);
  }

  /** Finishes every response and the transcoder; the owner has taken the stream out of its books. */
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

  /** The recording goes on at another place, with a key frame; for viewers without a hole. */
  #onDiscontinuity(): void {
    if (this.#pendingControl !== null) {
      this.#pace = this.#pendingControl.pace;
      this.#pendingControl.hasBegun = true;
    }
    this.#muxer.restart({ timestampSource: this.#pace });
    if (this.#viewers.size > 0) return;
    // Whoever comes now wants to see what was sought.
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

  /** A viewer that waits for its start gets all from there on; nothing of a recording is lost while nobody watches. */
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

  /** Recordings never drop: the camera waits while nobody can take more. */
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
      // Half of the bound, once held: not to stop and go with every tag.
      if (!(this.#isBackpressured ? viewer.isHalfFull : viewer.isFull)) hasRoom = true;
      if (viewer.queuedBytes >= this.#limits.hardQueueBytes) isOverfull = true;
    }
    if (startedViewers === 0) return this.#cache.bytes >= this.#limits.maxCacheBytes;
    return !hasRoom || isOverfull;
  }
}
