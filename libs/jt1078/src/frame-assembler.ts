import type { MediaFrame } from './media-frame.ts';
import { startsWithStartCode } from './nal-units.ts';
import type { MediaPacket } from './packet.ts';
import { createMediaFrame, PendingFrame } from './pending-frame.ts';
import { RecentPackets } from './recent-packets.ts';
import { SequenceTracker } from './sequence-tracker.ts';
import { DataType, type MediaKind, SubpackageMark } from './tables.ts';
import { hasSlice, startsAccessUnit } from './video-codec.ts';

/** Counters of an assembler. */
interface AssemblerCounters {
  frames: number;
  brokenFrames: number;
  sequenceGaps: number;
  lostPackets: number;
  repeatedPackets: number;
}

/** Options of an assembler. Only `onFrame` is required. */
interface AssemblerOptions {
  onFrame: (frame: MediaFrame) => void;
  maxFrameBytes?: number | undefined;
  maxFrameAgeMs?: number | undefined;
}

/** State of one (SIM, channel). */
interface Channel {
  sim: string;
  channel: number;
  sequence: number;
  video: PendingFrame;
  audio: PendingFrame;
  transparent: PendingFrame;
  /** Recent packets by kind, as audio and video may have separate counters. */
  recent: Record<MediaKind, RecentPackets>;
  /** `marks`: subpackage marks are valid. `timestamps`: all marks are 0 although frames are split. */
  markMode: 'unknown' | 'marks' | 'timestamps';
  wholeFrames: number;
  hasLostVideo: boolean;
  /** True while packets belong to a frame whose beginning was lost. */
  isOrphan: boolean;
}

/** Maximum number of channels of one connection; more are not plausible. */
const maxChannels = 32;
/** Size from which an atomic body may be the first part of a frame, while the validity of marks is unknown. */
const minSplitBodyBytes = 500;
/** Number of large atomic bodies that proved to be whole frames after which marks are considered valid. */
const trustMarksAfterFrames = 8;
/** Maximum wait of a frame that waits only for its successor. */
const openEndedTimeoutMs = 300;

/**
 * Joins the packets of one connection (or UDP peer) into frames, by (SIM, channel) and kind. Uses the subpackage mark
 * and the shared sequence counter, or the timestamp when frames are split with all marks 0. Ignores M. Drops repeated
 * packets, which some terminals send even over TCP.
 */
export class FrameAssembler {
  readonly #onFrame: (frame: MediaFrame) => void;
  readonly #maxBytes: number;
  readonly #maxAgeMs: number;
  readonly #sequences = new SequenceTracker();
  readonly #channels: Channel[] = [];
  #current: Channel | null = null;
  #frames = 0;
  #broken = 0;
  #repeated = 0;

  constructor(options: AssemblerOptions) {
    this.#onFrame = options.onFrame;
    this.#maxBytes = options.maxFrameBytes ?? 2 * 1024 * 1024;
    this.#maxAgeMs = options.maxFrameAgeMs ?? 5000;
  }

  get counters(): AssemblerCounters {
    return {
      frames: this.#frames,
      brokenFrames: this.#broken,
      sequenceGaps: this.#sequences.gaps,
      lostPackets: this.#sequences.lost,
      repeatedPackets: this.#repeated,
    };
  }

  /** Handles the next packet in sequence order. `nowMs` is any monotonic clock. */
  push(packet: MediaPacket, nowMs: number): void {
    const channel = this.#getOrCreateChannel(packet);
    const kind = toMediaKind(packet.dataType);
    if (channel.recent[kind].isRepeated(packet) && this.#sequences.isCounting) {
      this.#repeated++;
      return;
    }
    const pending = channel[kind];
    const isContinuation = packet.subpackage >= SubpackageMark.LAST;
    const isInOrder = this.#sequences.isInOrder(packet.sequence, channel.sequence, pending.sequence, isContinuation);
    channel.sequence = packet.sequence;
    pending.sequence = packet.sequence;
    if (!isInOrder) this.#onGap(channel, packet, kind, isContinuation);
    if (pending.isActive && nowMs - pending.startedMs > this.#maxAgeMs) this.#dropBroken(channel, kind, false);
    if (packet.subpackage === SubpackageMark.ATOMIC) {
      if (kind === 'video' && channel.markMode !== 'marks') this.#pushUnmarked(channel, packet, nowMs);
      else this.#pushWhole(channel, kind, packet, nowMs);
      return;
    }
    if (kind === 'video' && channel.markMode !== 'marks') this.#trustMarks(channel);
    if (packet.subpackage === SubpackageMark.FIRST) this.#pushFirst(channel, kind, packet, nowMs);
    else this.#pushNext(channel, kind, packet, nowMs);
  }

  /** Drops frames that have been pending too long, and emits those that have waited long enough for a successor. */
  expire(nowMs: number): void {
    for (const channel of this.#channels) {
      for (const kind of ['video', 'audio', 'transparent'] as const) {
        const pending = channel[kind];
        if (!pending.isActive) continue;
        if (pending.isOpenEnded && nowMs - pending.lastMs >= openEndedTimeoutMs) this.#finish(channel, kind);
        else if (nowMs - pending.startedMs > this.#maxAgeMs) this.#dropBroken(channel, kind, false);
      }
    }
  }

  /** Handles the end of the connection: emits frames that waited only for a successor and drops the rest. */
  flush(): void {
    for (const channel of this.#channels) {
      for (const kind of ['video', 'audio', 'transparent'] as const) {
        if (channel[kind].isActive && channel[kind].isOpenEnded) this.#finish(channel, kind);
        else if (channel[kind].isActive) this.#dropBroken(channel, kind, false);
      }
    }
  }

  #getOrCreateChannel(packet: MediaPacket): Channel {
    const current = this.#current;
    if (current?.sim === packet.sim && current.channel === packet.channel) return current;
    let channelState = this.#channels.find(({ sim, channel }) => sim === packet.sim && channel === packet.channel);
    if (!channelState) {
      channelState = createChannel(packet);
      if (this.#channels.length === maxChannels) this.#channels.shift();
      this.#channels.push(channelState);
    }
    this.#current = channelState;
    return channelState;
  }

  /**
   * Handles missing packets. If the next packet continues the same frame, only that frame has lost a part. Otherwise it
   * is unknown what was lost.
   */
  #onGap(channel: Channel, packet: MediaPacket, kind: MediaKind, isContinuation: boolean): void {
    const { video } = channel;
    const isSameFrame = kind === 'video' && isContinuation && video.isActive && video.hasSameTimestamp(packet);
    for (const other of this.#channels) {
      if (other !== channel || !isSameFrame) other.hasLostVideo = true;
    }
    for (const brokenKind of ['video', 'audio', 'transparent'] as const) {
      if (channel[brokenKind].isActive) this.#dropBroken(channel, brokenKind, brokenKind === 'video' && isSameFrame);
    }
  }

  /** Drops a frame with a missing part. */
  #dropBroken(channel: Channel, kind: MediaKind, isOnlyLoss: boolean): void {
    const pending = channel[kind];
    this.#broken++;
    if (kind === 'video') {
      if (!isOnlyLoss || !pending.isNonReference()) channel.hasLostVideo = true;
      channel.isOrphan = true;
    }
    pending.drop();
  }

  #pushWhole(channel: Channel, kind: MediaKind, packet: MediaPacket, nowMs: number): void {
    if (channel[kind].isActive) this.#dropBroken(channel, kind, true);
    this.#emit(channel, createMediaFrame(kind, packet, packet.body, 1, nowMs, false));
  }

  #pushFirst(channel: Channel, kind: MediaKind, packet: MediaPacket, nowMs: number): void {
    if (channel[kind].isActive) this.#dropBroken(channel, kind, true);
    channel.isOrphan = false;
    channel[kind].begin(packet, nowMs);
  }

  #pushNext(channel: Channel, kind: MediaKind, packet: MediaPacket, nowMs: number): void {
    const pending = channel[kind];
    // Without a usable counter, only a new timestamp shows that a beginning was lost.
    if (pending.isActive && !this.#sequences.isUsable && !pending.hasSameTimestamp(packet)) {
      this.#dropBroken(channel, kind, false);
    }
    if (!pending.isActive) {
      this.#pushOrphan(channel, kind);
      return;
    }
    if (pending.length + packet.body.length > this.#maxBytes) {
      this.#dropBroken(channel, kind, true);
      return;
    }
    pending.append(packet, nowMs);
    if (packet.subpackage === SubpackageMark.LAST) this.#finish(channel, kind);
  }

  #pushOrphan(channel: Channel, kind: MediaKind): void {
    if (kind !== 'video' || channel.isOrphan) return;
    channel.isOrphan = true;
    channel.hasLostVideo = true;
    this.#broken++;
  }

  #trustMarks(channel: Channel): void {
    channel.markMode = 'marks';
    if (channel.video.isActive) this.#finish(channel, 'video');
  }

  /** Handles video with mark 0 of a device that has not sent any other mark. */
  #pushUnmarked(channel: Channel, packet: MediaPacket, nowMs: number): void {
    const { video } = channel;
    const startsUnit = startsWithStartCode(packet.body);
    if (video.isActive) {
      if (this.#isContinuation(channel, packet, startsUnit)) {
        if (!startsUnit) channel.markMode = 'timestamps';
        if (video.length + packet.body.length > this.#maxBytes) this.#dropBroken(channel, 'video', true);
        else video.append(packet, nowMs);
        return;
      }
      this.#finish(channel, 'video');
      if (channel.markMode === 'unknown' && ++channel.wholeFrames >= trustMarksAfterFrames) channel.markMode = 'marks';
    }
    if (channel.markMode === 'timestamps' && !startsUnit) {
      this.#pushOrphan(channel, 'video');
      return;
    }
    channel.isOrphan = false;
    if (
      channel.markMode === 'timestamps' ||
      (channel.markMode === 'unknown' && packet.body.length >= minSplitBodyBytes)
    ) {
      video.begin(packet, nowMs);
      video.isOpenEnded = true;
    } else {
      this.#emit(channel, createMediaFrame('video', packet, packet.body, 1, nowMs, false));
    }
  }

  /** Returns true when an unmarked packet continues the pending frame. */
  #isContinuation(channel: Channel, packet: MediaPacket, startsUnit: boolean): boolean {
    if (!channel.video.hasSameTimestamp(packet)) return false;
    if (!startsUnit) return true;
    if (channel.markMode !== 'timestamps') return false;
    return !hasSlice(channel.video.bytes(), packet.payloadType) || !startsAccessUnit(packet.body, packet.payloadType);
  }

  #finish(channel: Channel, kind: MediaKind): void {
    const frame = channel[kind].finish(false);
    if (frame) this.#emit(channel, frame);
  }

  #emit(channel: Channel, frame: MediaFrame): void {
    this.#frames++;
    if (frame.kind === 'video') {
      frame.discontinuity = channel.hasLostVideo;
      channel.hasLostVideo = false;
    }
    this.#onFrame(frame);
  }
}

function toMediaKind(dataType: number): MediaKind {
  if (dataType <= DataType.B) return 'video';
  return dataType === DataType.AUDIO ? 'audio' : 'transparent';
}

const createChannel = (packet: MediaPacket): Channel => ({
  sim: packet.sim,
  channel: packet.channel,
  sequence: -1,
  video: new PendingFrame('video'),
  audio: new PendingFrame('audio'),
  transparent: new PendingFrame('transparent'),
  recent: { video: new RecentPackets(), audio: new RecentPackets(), transparent: new RecentPackets() },
  markMode: 'unknown',
  wholeFrames: 0,
  hasLostVideo: false,
  isOrphan: false,
});
