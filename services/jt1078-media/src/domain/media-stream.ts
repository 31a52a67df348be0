import { type AacFormat, type FlvTag, type MediaFrame, StreamMuxer, type TimestampSource } from '@fleet/jt1078';
import type { Logger } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';
import { outputSampleRate } from '../transcode/ffmpeg-transcoder.ts';
import { StreamAudio } from '../transcode/stream-audio.ts';
import type { Transcoders } from '../transcode/transcoders.ts';
import { CameraFeed } from './camera-feed.ts';
import type { CameraLink } from './camera-link.ts';
import type { EndReason } from './end-reason.ts';
import { getRequestedMedia, type RequestedMedia } from './play-options.ts';
import { PlaybackControl } from './playback-control.ts';
import type { StreamLimits } from './stream-limits.ts';
import type { StreamViewer } from './stream-viewer.ts';
import { ViewerGroup } from './viewer-group.ts';
import { VoiceLine } from './voice-line.ts';

/** Returns the form of a terminal's AAC without ADTS; never rejects. */
export type FindAacFormat = (imei: string) => Promise<AacFormat>;

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
/** Minimum delay of closing a connection after a stop command, as the terminal may close it by itself. */
const closeAfterStopMs = 1_500;
/** Time in which a camera may reconnect during talk: the talker hears nothing. */
const talkGraceMs = 3_000;
/** Time without a talker after which a talk stream ends: its talker has left during the start. */
const talkerTimeoutMs = 10_000;
/** Time without data after which a frame that waits for its successor is flushed. */
const flushDelayMs = 500;

/** Returns a timestamp of 64 bits; beyond the exact numbers of JavaScript only its lower half. */
const toTimestampMs = ({ timestampHigh, timestampLow }: MediaFrame): number => {
  const timestampMs = timestampHigh * 2 ** 32 + timestampLow;
  return Number.isSafeInteger(timestampMs) ? timestampMs : timestampLow;
};

// Talk is live.
const toPlayedKind = ({ kind }: StreamId): 'live' | 'history' => (kind === 'history' ? 'history' : 'live');

/**
 * Represents one camera channel that streams to this pod. Frames of the camera go through the muxer, which creates
 * tags, to the viewers. Survives reconnects of the camera.
 */
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
  /** The conversation of a talk stream; null for other kinds. */
  readonly voice: VoiceLine | null;
  readonly #limits: StreamLimits;
  readonly #log: Logger;
  readonly #camera: CameraFeed;
  readonly #playback: PlaybackControl;
  readonly #muxer: StreamMuxer;
  readonly #audio: StreamAudio;
  readonly #viewers: ViewerGroup;
  #isFlushed = true;
  #timestampMs: number | null = null;

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
    const { limits, transcoders, findAacFormat, expectsViewer, log } = options;
    this.id = id;
    this.claim = claim;
    this.#limits = limits;
    this.#log = log;
    this.#camera = new CameraFeed(id);
    this.voice = id.kind === 'talk' ? new VoiceLine(id, () => this.#camera.link) : null;
    this.#playback = new PlaybackControl(toPlayedKind(id), claim.request?.pace ?? 'device');
    this.#audio = new StreamAudio({
      transcoders,
      onAac: (frame, timestampMs) => this.#muxer.pushTranscodedAac(frame, timestampMs),
      log,
    });
    this.#muxer = new StreamMuxer({
      timestampSource: this.#playback.timestampSource,
      transcodedSampleRate: outputSampleRate,
      onTag: (tag) => this.#deliver(tag),
      onTranscode: (input) => this.#audio.push(input),
      onAacUnknown: () => void findAacFormat(id.imei).then((format) => this.#muxer.setAac(format)),
    });
    this.#viewers = new ViewerGroup({
      kind: toPlayedKind(id),
      limits,
      muxer: this.#muxer,
      audio: this.#audio,
      requestedMedia: () => this.#requestedMedia,
      expectsViewer,
      log,
    });
  }

  get viewers(): ReadonlySet<StreamViewer> {
    return this.#viewers.viewers;
  }

  get muxer(): Pick<StreamMuxer, 'video' | 'audio' | 'counters'> {
    return this.#muxer;
  }

  /** Device timestamp of the newest picture; null before the first one. */
  get timestampMs(): number | null {
    return this.#timestampMs;
  }

  get firstKeyFrameAtMs(): number | null {
    return this.#viewers.firstKeyFrameAtMs;
  }

  /** Tags dropped for slow viewers, including the connected ones. */
  get droppedTags(): number {
    let dropped = this.counters.droppedTags;
    for (const viewer of this.viewers) dropped += viewer.counters.droppedTags;
    return dropped;
  }

  get link(): CameraLink | null {
    return this.#camera.link;
  }

  /** True while the camera was commanded to pause a recording. */
  get isPaused(): boolean {
    return this.#camera.isPaused;
  }

  /** True while reading from the camera is paused because viewers are full. */
  get isBackpressured(): boolean {
    return this.#camera.isBackpressured;
  }

  /** Attaches the connection of a camera and releases an older one. */
  attach(link: CameraLink): void {
    if (!this.#camera.attach(link)) return;
    this.counters.reconnects += 1;
    this.#log.info({ transport: link.transport, remote: link.remote }, 'camera reconnected');
    this.#muxer.restart();
    this.#viewers.awaitKeyFrame();
  }

  /** Detaches a closed connection. Returns false when another connection has replaced it. */
  detach(link: CameraLink): boolean {
    if (this.#camera.link !== link) return false;
    this.#muxer.flush();
    this.#camera.detach();
    return true;
  }

  /** Records a seek or speed command that is being sent to the camera. By default the timestamp source stays the same. */
  expectControl(timestampSource?: TimestampSource): void {
    this.#playback.expect(timestampSource);
  }

  /** Handles the camera's confirmation of a command. Its first frame may arrive before or after it. */
  confirmControl(timestampSource?: TimestampSource): void {
    // Another speed at the same position: the pictures continue, only their clock changes.
    if (this.#playback.confirm(timestampSource)) this.#muxer.setTimestampSource(this.#playback.timestampSource);
  }

  /** Handles a frame of the camera. Its data is valid only during the call. */
  push(frame: MediaFrame): void {
    if (this.voice !== null) return this.voice.receive(frame);
    // Some devices send audio although only video was requested, or the reverse. Players expect what was requested.
    const requestedMedia = this.#requestedMedia;
    if (requestedMedia !== 'any' && frame.kind !== requestedMedia) return;
    this.#isFlushed = false;
    if (this.#playback.isDiscontinuity(frame)) this.#onDiscontinuity();
    if (frame.kind === 'video') this.#timestampMs = toTimestampMs(frame);
    this.#muxer.push(frame);
  }

  /** Counts packets, which prove that the camera is alive even if they complete no frame. */
  countPackets(packets: number, bytes: number, nowMs: number): void {
    this.counters.packets += packets;
    this.counters.bytes += bytes;
    this.#camera.recordData(nowMs);
  }

  /** Marks the stream as paused or resumed. No data is expected while paused. */
  setPaused(isPaused: boolean): void {
    this.#camera.setPaused(isPaused);
  }

  /**
   * Adds a viewer, which starts as soon as its tracks are known. Calls `onNoMedia` when there is nothing for it to
   * play.
   */
  join(viewer: StreamViewer, callbacks: { onStart: () => void; onNoMedia: (endReason?: EndReason) => void }): void {
    viewer.onStart = callbacks.onStart;
    viewer.onNoMedia = callbacks.onNoMedia;
    viewer.onDrain = () => this.#updateBackpressure();
    this.#viewers.add(viewer);
    this.#updateBackpressure();
  }

  /** Removes a viewer that left, by default now, or was closed. */
  leave(viewer: StreamViewer, leftAtMs?: number): void {
    if (!this.#viewers.remove(viewer, leftAtMs)) return;
    this.counters.droppedTags += viewer.counters.droppedTags;
    this.#updateBackpressure();
  }

  /** Checks timers and viewers; call it regularly. Returns a reason if the stream has to end. */
  check(nowMs: number): EndReason | null {
    if (!this.#isFlushed && nowMs - this.#camera.lastDataMs >= flushDelayMs) {
      this.#isFlushed = true;
      this.#muxer.flush();
    }
    this.#viewers.check(nowMs);
    return this.#findEndReason(nowMs);
  }

  /** Finishes all responses and the transcoder. The owner has already removed the stream. */
  end(reason: EndReason): void {
    this.#muxer.flush();
    this.#audio.stop();
    this.#viewers.end(reason);
    this.voice?.end(reason);
    // A camera that moves is not stopped by a command: the end of its connection does it.
    this.#camera.release(reason, reason === 'moved' ? 0 : closeAfterStopMs);
  }

  get #requestedMedia(): RequestedMedia {
    return getRequestedMedia(toPlayedKind(this.id), this.claim.request?.dataType ?? null);
  }

  #deliver(tag: FlvTag): void {
    this.#viewers.deliver(tag);
    this.#updateBackpressure();
  }

  #findEndReason(nowMs: number): EndReason | null {
    const { idleStopMs, graceMs, dataTimeoutMs } = this.#limits;
    const { disconnectedAtMs } = this.#camera;
    const isLive = this.id.kind !== 'history';
    if (disconnectedAtMs !== null) {
      const disconnectedMs = nowMs - disconnectedAtMs;
      if (isLive && disconnectedMs >= (this.voice === null ? graceMs : talkGraceMs)) return 'cameraLeft';
      if (!isLive && (this.#viewers.wasWatched || disconnectedMs >= unwatchedTtlMs)) return 'recordingEnded';
    }
    // Cameras may send nothing while the driver is silent, and a talker leaves at last.
    if (this.voice !== null) return this.voice.isIdle(nowMs, talkerTimeoutMs) ? 'idle' : null;
    if (this.viewers.size === 0 && nowMs - this.#viewers.idleSinceMs >= idleStopMs) return 'idle';
    return this.#camera.isSilent(nowMs, dataTimeoutMs) ? 'noData' : null;
  }

  /** Continues the recording at its new position, which begins with a key frame. Viewers get no gap. */
  #onDiscontinuity(): void {
    this.#muxer.restart({ timestampSource: this.#playback.timestampSource });
    if (this.viewers.size > 0) return;
    // Later viewers begin at the new position.
    this.#viewers.clearCache();
    this.#updateBackpressure();
  }

  /** Pauses or resumes the camera of a recording, as recordings never drop frames. */
  #updateBackpressure(): void {
    if (this.id.kind !== 'history') return;
    this.#camera.setBackpressure(this.#viewers.needsBackpressure(this.#camera.isBackpressured));
  }
}
