import { DtsEstimator } from './dts-estimator.ts';
import { FlvTag, tagHeaderBytes } from './flv-tag.ts';
import { createVideoSequenceHeader, getFrameHeaderBytes, writeFrameHeader } from './flv-video.ts';
import { FrameScan } from './frame-scan.ts';
import { type SpsInfo } from './h264.ts';
import type { MediaFrame } from './media-frame.ts';
import { ParameterSets } from './parameter-sets.ts';
import type { StreamTimeline } from './stream-timeline.ts';
import { getDeclaredCodec, type VideoCodec } from './video-codec.ts';

/** Properties of the video. */
export interface VideoInfo extends Pick<SpsInfo, 'width' | 'height' | 'profile' | 'level' | 'codecString'> {
  codec: VideoCodec;
}

/** Counters of a stream's video. */
export interface VideoCounters {
  /** Pictures emitted as tags. */
  videoFrames: number;
  keyFrames: number;
  /** Frames before the first key frame, after a loss, or with invalid content. */
  droppedVideoFrames: number;
  /** Frames whose parameter sets belong to another codec than their payload type. */
  codecMismatches: number;
}

/** Picture whose further slices may arrive in separate frames. */
interface HeldPicture {
  timestampLow: number;
  isKeyFrame: boolean;
  isDisposable: boolean;
  pts: number;
  dts: number;
  parts: Buffer[];
  bytes: number;
}

/** Number of random access points without IDR to skip before one is accepted as a key frame. */
const openGopAfterCandidates = 2;
/** Number of pictures without a second slice frame after which no more are expected. */
const stopJoiningAfterPictures = 64;
const maxHeldBytes = 2 * 1024 * 1024;

/**
 * Converts video frames to FLV tags: one tag per picture, sequence headers before key frames, nothing before the first.
 */
export class VideoMuxer {
  readonly counters: VideoCounters = { videoFrames: 0, keyFrames: 0, droppedVideoFrames: 0, codecMismatches: 0 };
  sequenceHeader: FlvTag | null = null;
  readonly #timeline: StreamTimeline;
  readonly #onTag: (tag: FlvTag) => void;
  readonly #scan = new FrameScan();
  readonly #dts = new DtsEstimator();
  #codec: VideoCodec | null = null;
  #sets: ParameterSets | null = null;
  #info: VideoInfo | null = null;
  #isAwaitingKeyFrame = true;
  #isHeaderDue = true;
  #openGopCandidates = 0;
  #isOpenGop = false;
  #held: HeldPicture | null = null;
  /** Whether slices of a picture arrive in separate frames; `unknown` until the first evidence. */
  #sliceJoining: 'unknown' | 'on' | 'off' = 'unknown';
  #picturesSinceJoin = 0;
  #setsOnlyTimestamp: number | null = null;

  constructor(timeline: StreamTimeline, onTag: (tag: FlvTag) => void) {
    this.#timeline = timeline;
    this.#onTag = onTag;
  }

  get info(): VideoInfo | null {
    return this.#info;
  }

  push(frame: MediaFrame): void {
    const scan = this.#scan;
    const codec = scan.scan(
      frame.data,
      this.#codec ?? getDeclaredCodec(frame.payloadType),
      getDeclaredCodec(frame.payloadType),
    );
    if (codec === null || scan.isOverfull) {
      if (frame.data.length > 0) this.counters.droppedVideoFrames++;
      return;
    }
    if (codec !== getDeclaredCodec(frame.payloadType) && scan.parameterSets > 0) this.counters.codecMismatches++;
    if (codec !== this.#codec) this.#switchCodec(codec);
    if (frame.discontinuity) this.#awaitKeyFrame();
    for (let i = 0; i < scan.count; i++) if (scan.role(i) === 'parameterSet') this.#sets?.add(scan.unit(i));
    if (scan.slices === 0) {
      if (scan.parameterSets > 0) this.#setsOnlyTimestamp = frame.timestampLow;
      return;
    }
    if (!scan.isPictureStart) {
      this.#pushContinuation(frame);
      return;
    }
    this.flush();
    this.#pushPicture(frame, codec);
  }

  /** Emits the picture that waits for further slices. */
  flush(): void {
    const held = this.#held;
    if (held === null || this.#codec === null) return;
    this.#held = null;
    if (++this.#picturesSinceJoin > stopJoiningAfterPictures) this.#sliceJoining = 'off';
    const headerBytes = getFrameHeaderBytes(this.#codec);
    const tag = new FlvTag('video', held.dts, headerBytes + held.bytes, held);
    let at = writeFrameHeader(tag.wire, tagHeaderBytes, this.#codec, held.isKeyFrame, getCompositionMs(held));
    for (const part of held.parts) {
      tag.wire.set(part, at);
      at += part.length;
    }
    this.#emit(tag);
  }

  /** Handles a new connection: waits for a key frame and repeats the sequence header before it. */
  restart(): void {
    this.flush();
    this.#awaitKeyFrame();
    this.#isHeaderDue = true;
    this.#dts.restart();
  }

  #switchCodec(codec: VideoCodec): void {
    this.flush();
    this.#codec = codec;
    this.#sets = new ParameterSets(codec);
    this.#awaitKeyFrame();
    this.#sliceJoining = 'unknown';
    this.#isOpenGop = false;
  }

  #awaitKeyFrame(): void {
    this.#isAwaitingKeyFrame = true;
    this.#held = null;
  }

  #pushPicture(frame: MediaFrame, codec: VideoCodec): void {
    const scan = this.#scan;
    const sets = this.#sets;
    const info = sets?.info ?? null;
    this.#dts.setReorderDepth(info?.reorderFrames ?? 0);
    const canGoBack = (info?.reorderFrames ?? 0) > 0 || (info?.reorderFrames === null && scan.isBSlice());
    const pts = this.#timeline.videoTime(frame.timestampLow, frame.arrivalMs, canGoBack);
    const isKeyFrame = this.#isKeyFrame(frame);
    const isDecodable = isKeyFrame ? sets?.isComplete === true : !this.#isAwaitingKeyFrame;
    if (!isDecodable || sets === null || info === null) {
      this.counters.droppedVideoFrames++;
      if (isKeyFrame) this.#isAwaitingKeyFrame = true;
      return;
    }
    const dts = this.#dts.nextDts(pts, this.#timeline.frameMs);
    if (isKeyFrame) this.#startGop(sets, info, codec, dts);
    // Sets that change in the middle of a group stay in its frames; the sequence header waits for the key frame.
    scan.includesParameterSets = !isKeyFrame && sets.isChanged;
    const isDisposable = !isKeyFrame && scan.isDisposable(info.subLayers);
    if (this.#shouldJoinSlices(frame, isKeyFrame)) {
      const part = Buffer.allocUnsafe(scan.outputBytes());
      scan.write(part, 0);
      const { timestampLow } = frame;
      this.#held = { timestampLow, isKeyFrame, isDisposable, pts, dts, parts: [part], bytes: part.length };
      return;
    }
    const headerBytes = getFrameHeaderBytes(codec);
    const tag = new FlvTag('video', dts, headerBytes + scan.outputBytes(), { isKeyFrame, isDisposable });
    const at = writeFrameHeader(tag.wire, tagHeaderBytes, codec, isKeyFrame, getCompositionMs({ pts, dts }));
    scan.write(tag.wire, at);
    this.#emit(tag);
  }

  /** Handles further slices of the previous picture in a separate frame. */
  #pushContinuation(frame: MediaFrame): void {
    const held = this.#held;
    this.#picturesSinceJoin = 0;
    if (this.#sliceJoining !== 'on') {
      // The picture was emitted without them, so pictures that refer to it are damaged until the next key frame.
      this.#sliceJoining = 'on';
      this.#isAwaitingKeyFrame = true;
    }
    if (held === null || held.timestampLow !== frame.timestampLow || held.bytes > maxHeldBytes) {
      this.counters.droppedVideoFrames++;
      return;
    }
    const part = Buffer.allocUnsafe(this.#scan.outputBytes());
    this.#scan.write(part, 0);
    held.parts.push(part);
    held.bytes += part.length;
  }

  /**
   * Returns true when the picture must wait for further slices. Parameter sets in separate frames suggest such a
   * device.
   */
  #shouldJoinSlices(frame: MediaFrame, isKeyFrame: boolean): boolean {
    if (this.#sliceJoining === 'unknown' && isKeyFrame) {
      const hasOwnSets = this.#scan.parameterSets > 0;
      if (!hasOwnSets && this.#setsOnlyTimestamp === frame.timestampLow) {
        this.#sliceJoining = 'on';
        this.#picturesSinceJoin = 0;
      }
    }
    return this.#sliceJoining === 'on';
  }

  #isKeyFrame(frame: MediaFrame): boolean {
    const scan = this.#scan;
    if (scan.isRandomAccess) {
      this.#openGopCandidates = 0;
      this.#isOpenGop = false;
      return true;
    }
    if (!scan.canStartGop(frame.dataType)) return false;
    if (this.#isAwaitingKeyFrame && this.#openGopCandidates++ >= openGopAfterCandidates) this.#isOpenGop = true;
    return this.#isOpenGop;
  }

  #startGop(sets: ParameterSets, info: SpsInfo, codec: VideoCodec, dts: number): void {
    this.#isAwaitingKeyFrame = false;
    if (!sets.isChanged && !this.#isHeaderDue) return;
    sets.isChanged = false;
    this.#isHeaderDue = false;
    const { width, height, profile, level, codecString } = info;
    this.#info = { codec, width, height, profile, level, codecString };
    this.sequenceHeader = createVideoSequenceHeader(codec, sets.encodeConfiguration(info), dts);
    this.#onTag(this.sequenceHeader);
  }

  #emit(tag: FlvTag): void {
    this.counters.videoFrames++;
    if (tag.isKeyFrame) this.counters.keyFrames++;
    this.#onTag(tag);
  }
}

const getCompositionMs = ({ pts, dts }: { pts: number; dts: number }): number => Math.max(0, Math.round(pts) - dts);
