import { type AacFormat, type FlvTag, type MediaFrame, type Pace, StreamMuxer } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';
import { OUTPUT_RATE } from '../transcode/ffmpeg-transcoder.ts';
import { StreamAudio } from '../transcode/stream-audio.ts';
import type { Transcoders } from '../transcode/transcoders.ts';
import { GopCache, type SequenceHeaders } from './gop-cache.ts';
import { JumpWatch } from './jump-watch.ts';
import { decideTracks, type PlayOptions, type Tracks, type WantedMedia, wantedMedia } from './play-options.ts';
import type { Viewer } from './viewer.ts';
import { WireCache } from './wire.ts';

/** A camera's connection, as a stream sees it. */
export interface CameraLink {
  readonly transport: 'tcp' | 'udp';
  readonly remote: string;
  /** The stream needs the connection no more; when no other does, it is closed after this time. */
  leave(id: StreamId, reason: string, closeAfterMs: number): void;
  /** Recordings: stop and go on reading. */
  hold(id: StreamId): void;
  resume(id: StreamId): void;
}

/** Times and bounds of a stream. */
export interface StreamLimits {
  readonly idleStopMs: number;
  readonly graceMs: number;
  readonly dataTimeoutMs: number;
  readonly firstFrameWaitMs: number;
  /** Bounds of the cached group of pictures, and of a recording's beginning that waits for its first viewer. */
  readonly cacheTags: number;
  readonly cacheBytes: number;
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
const UNSEEN_RECORDING_MS = 5_000;
/** A viewer that waited for the camera's first packet joins at once, or has gone. */
const EXPECTED_VIEWER_MS = 2_000;
/** After a stop command a connection is closed no sooner: the terminal may close it by itself. */
const CLOSE_AFTER_STOP_MS = 1_500;
/** A frame that waits for its successor waits no longer once the camera is quiet. */
const FLUSH_AFTER_MS = 500;

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
  readonly #wires = new WireCache();
  #link: CameraLink | null = null;
  #headers: SequenceHeaders = { video: null, audio: null };
  #lastDataMs = performance.now();
  #leftAtMs: number | null = null;
  #idleSinceMs: number = performance.now();
  #wasWatched = false;
  #waiting = 0;
  /** Somebody waited for the camera: a viewer is on its way. */
  #expectsViewer: boolean;
  #isHeld = false;
  #isFlushed = true;
  #pace: Pace;
  readonly #jumps: JumpWatch | null;
  /** A control that its camera is being asked for: with which pace the recording goes on, and whether it has begun to. */
  #control: { readonly pace: Pace; hasBegun: boolean } | null = null;

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
    this.#cache = new GopCache({ maxTags: options.limits.cacheTags, maxBytes: options.limits.cacheBytes });
    this.#expectsViewer = options.expectsViewer;
    this.#jumps = id.kind === 'history' ? new JumpWatch() : null;
    this.#pace = claim.request?.pace ?? 'device';
    this.#updateKeeping();
    this.#audio = new StreamAudio({
      transcoders: options.transcoders,
      onAac: (frame, timestampMs) => this.#muxer.pushTranscodedAac(frame, timestampMs),
      log: options.log,
    });
    this.#muxer = new StreamMuxer({
      pace: this.#pace,
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

  get #wanted(): WantedMedia {
    return wantedMedia(this.id.kind, this.claim.request?.dataType ?? null);
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
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** A camera's connection brings this stream from now on; an older one is left. */
  attach(link: CameraLink): void {
    const previous = this.#link;
    const isFirst = previous === null && this.#leftAtMs === null;
    this.#link = link;
    this.#leftAtMs = null;
    this.#lastDataMs = performance.now();
    if (isFirst) return;
    this.counters.reconnects += 1;
    this.#log.info({ transport: link.transport, remote: link.remote }, 'the camera has reconnected');
    if (previous !== null && this.#isHeld) previous.resume(this.id);
    previous?.leave(this.id, 'the camera has a new connection', 0);
    if (this.#isHeld) link.hold(this.id);
    this.#muxer.restart();
    for (const viewer of this.#viewers) viewer.awaitKeyFrame();
  }

  /** The connection is gone; false when another has taken its place. */
  detach(link: CameraLink): boolean {
    if (this.#link !== link) return false;
    this.#muxer.flush();
    this.#link = null;
    this.#leftAtMs = performance.now();
    return true;
  }

  /** The camera is being asked to go on at another place or speed; without a pace at the same. */
  expectControl(pace: Pace = this.#pace): void {
    this.#control = { pace, hasBegun: false };
    this.#jumps?.expect(performance.now());
  }

  /** The camera has said that it does. Where its frames have not shown it yet, they may still. */
  confirmControl(pace?: Pace): void {
    if (this.#control?.hasBegun === true) {
      this.#control = null;
      return;
    }
    this.expectControl(pace);
    if (pace === undefined || pace === this.#pace) return;
    // Another speed at the same place: the pictures go on, only their clock is another one.
    this.#pace = pace;
    this.#muxer.retime(pace);
  }

  /** A frame from the camera, whose data is valid only during the call. */
  push(frame: MediaFrame): void {
    // Some devices send sound although pictures alone were asked for, and the reverse: players are promised what was asked for.
    const wanted = this.#wanted;
    if (wanted !== 'any' && frame.kind !== wanted) return;
    this.#isFlushed = false;
    if (this.#jumps?.isJump(frame) === true) this.#jump();
    this.#muxer.push(frame);
  }

  /** Counts packets; they say that the camera is alive even if no frame comes of them. */
  notePackets(packets: number, bytes: number, nowMs: number): void {
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
  join(viewer: Viewer, hear: { onStart: () => void; onNothing: () => void }): void {
    this.#viewers.add(viewer);
    this.#waiting += 1;
    this.#expectsViewer = false;
    this.#updateKeeping();
    viewer.onStart = hear.onStart;
    viewer.onNothing = hear.onNothing;
    viewer.onDrain = () => this.#updateHold();
    this.#tryStart(viewer, performance.now());
    this.#updateHold();
  }

  /** Removes a viewer, whether it left by itself or was closed. */
  leave(viewer: Viewer): void {
    if (!this.#viewers.delete(viewer)) return;
    if (viewer.tracks === null) this.#waiting -= 1;
    this.counters.droppedTags += viewer.counters.droppedTags;
    this.#countListeners();
    if (this.#viewers.size === 0) this.#idleSinceMs = performance.now();
    this.#updateKeeping();
    this.#updateHold();
  }

  /** Regular look at timers and viewers; the reason if the stream has to end. */
  check(nowMs: number): EndReason | null {
    if (!this.#isFlushed && nowMs - this.#lastDataMs >= FLUSH_AFTER_MS) {
      this.#isFlushed = true;
      this.#muxer.flush();
    }
    if (this.#expectsViewer && nowMs - this.startedAtMs >= EXPECTED_VIEWER_MS) {
      this.#expectsViewer = false;
      this.#updateKeeping();
    }
    for (const viewer of this.#viewers) {
      if (viewer.checkStalled(nowMs))
        this.#log.info({ droppedTags: viewer.counters.droppedTags }, 'a stalled viewer was closed');
      else if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
    }
    return this.#endReason(nowMs);
  }

  /** Finishes every response and the transcoder; the owner has taken the stream out of its books. */
  end(reason: EndReason): void {
    this.#muxer.flush();
    this.#audio.stop();
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null) viewer.onNothing();
      else viewer.end();
    }
    this.#link?.leave(this.id, reason, CLOSE_AFTER_STOP_MS);
    this.#link = null;
  }

  #endReason(nowMs: number): EndReason | null {
    const { idleStopMs, graceMs, dataTimeoutMs } = this.#limits;
    const isLive = this.id.kind === 'live';
    if (this.#link === null && this.#leftAtMs !== null) {
      const awayMs = nowMs - this.#leftAtMs;
      if (isLive && awayMs >= graceMs) return 'cameraLeft';
      if (!isLive && (this.#wasWatched || awayMs >= UNSEEN_RECORDING_MS)) return 'recordingEnded';
    }
    if (this.#viewers.size === 0 && nowMs - this.#idleSinceMs >= idleStopMs) return 'idle';
    if (this.#link !== null && !this.isPaused && !this.#isHeld && nowMs - this.#lastDataMs >= dataTimeoutMs)
      return 'noData';
    return null;
  }

  /** The recording goes on at another place, with a key frame; for viewers without a hole. */
  #jump(): void {
    if (this.#control !== null) {
      this.#pace = this.#control.pace;
      this.#control.hasBegun = true;
    }
    this.#muxer.restart({ pace: this.#pace });
    if (this.#viewers.size > 0) return;
    // Whoever comes now wants to see what was sought.
    this.#cache.clear();
    this.#updateHold();
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
      this.#audio.forgetRecent();
    }
    this.#cache.add(tag, this.#headers);
    if (this.id.kind === 'live' && this.#cache.bytes > this.#limits.cacheBytes) this.#cache.keepsAll = false;
    for (const viewer of this.#viewers)
      if (this.#isFor(viewer, tag)) viewer.push(tag, this.#headers, this.#wires, nowMs);
    if (this.#waiting > 0) this.#startWaiting(nowMs);
    if (this.id.kind === 'history') this.#updateHold();
  }

  #isFor(viewer: Viewer, tag: FlvTag): boolean {
    if (tag.track === 'video') return true;
    const isCopy = viewer.options.audio === 'copy' && this.#muxer.audio?.needsTranscoding === true;
    return tag.track === (isCopy ? 'audioCopy' : 'audio');
  }

  #startWaiting(nowMs: number): void {
    for (const viewer of this.#viewers) if (viewer.tracks === null) this.#tryStart(viewer, nowMs);
  }

  #tryStart(viewer: Viewer, nowMs: number): void {
    if (viewer.isClosed) return;
    const tracks = decideTracks({
      wanted: this.#wanted,
      audioMode: viewer.options.audio,
      sinceKeyFrameMs: this.firstKeyFrameAtMs === null ? null : nowMs - this.firstKeyFrameAtMs,
      isAudioPlayable: this.#isAudioPlayable(viewer.options),
      isAudioAwaited: this.#muxer.isAacAwaited,
      waitedMs: nowMs - viewer.joinedAtMs,
      firstFrameWaitMs: this.#limits.firstFrameWaitMs,
    });
    if (tracks === 'wait') return;
    if (tracks === 'none') viewer.onNothing();
    else this.#start(viewer, tracks, nowMs);
  }

  #start(viewer: Viewer, tracks: Tracks, nowMs: number): void {
    this.#waiting -= 1;
    this.#wasWatched = true;
    const metadata = this.#muxer.metadata({
      audio: tracks.audio ? viewer.options.audio : 'none',
      legacyHevc: viewer.options.isLegacyHevc,
      transcodedSampleRate: OUTPUT_RATE,
    });
    viewer.start(tracks, metadata, nowMs, () => {
      for (const { tag, headers } of this.#cache.tags)
        if (this.#isFor(viewer, tag)) viewer.push(tag, headers, this.#wires, nowMs);
    });
    this.#updateKeeping();
    this.#countListeners();
  }

  #isAudioPlayable({ audio: mode }: PlayOptions): boolean | null {
    const source = this.#muxer.audio;
    if (source === null) return null;
    if (mode === 'none') return false;
    if (!source.needsTranscoding) return true;
    return mode === 'copy' ? source.canCopy : this.#audio.isAvailable;
  }

  /** A viewer that waits for its start gets all from there on; nothing of a recording is lost while nobody watches. */
  #updateKeeping(): void {
    const isUnwatched = this.#viewers.size === 0;
    this.#cache.keepsAll = this.#waiting > 0 || this.#expectsViewer || (isUnwatched && this.id.kind === 'history');
  }

  #countListeners(): void {
    let listeners = 0;
    for (const viewer of this.#viewers) if (viewer.tracks?.audio && viewer.options.audio === 'aac') listeners += 1;
    this.#audio.listeners = listeners;
  }

  /** Recordings never drop: the camera waits while nobody can take more. */
  #updateHold(): void {
    if (this.id.kind !== 'history') return;
    const shouldHold = this.#shouldHold();
    if (shouldHold === this.#isHeld) return;
    this.#isHeld = shouldHold;
    this.#lastDataMs = performance.now();
    if (shouldHold) this.#link?.hold(this.id);
    else this.#link?.resume(this.id);
  }

  #shouldHold(): boolean {
    let hasRoom = false;
    let isOverfull = false;
    let started = 0;
    for (const viewer of this.#viewers) {
      if (viewer.tracks === null || viewer.isClosed) continue;
      started += 1;
      // Half of the bound, once held: not to stop and go with every tag.
      if (!(this.#isHeld ? viewer.isHalfFull : viewer.isFull)) hasRoom = true;
      if (viewer.queuedBytes >= this.#limits.hardQueueBytes) isOverfull = true;
    }
    if (started === 0) return this.#cache.bytes >= this.#limits.cacheBytes;
    return !hasRoom || isOverfull;
  }
}
