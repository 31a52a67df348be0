import type { Clip, ClipFrame } from './clip.ts';

/** Live video (0x9101), playback of a recording (0x9201), or talk (0x9101 with data type 2 or 4). */
export type StreamKind = 'live' | 'history' | 'talk';

/** One frame of voice that a terminal has received. */
export interface VoiceFrame {
  payloadType: number;
  sim: string;
  channel: number;
  timestampMs: number;
  hasHisiliconHeader: boolean;
  /** The frame as it was sent. */
  data: Buffer;
  /** Decoded samples of 8 kHz. */
  pcm: Int16Array;
  /** Arrival, in milliseconds since 1970 with fractions. */
  atMs: number;
}

/** One frame sent by the camera, with the data to identify it at the viewer. */
export interface SentFrame {
  /** Clip of the frame (`Clip.key`) and its index in the clip. */
  clipKey: string;
  clipIndex: number;
  /** Hash of the bytes in the packets' bodies. */
  sha256: string;
  sizeBytes: number;
  timestampMs: number;
  isKeyFrame: boolean;
  /** Sequence number of its first packet. */
  sequence: number;
}

/** Record of one media connection, retained after its end. */
export interface StreamRecord {
  readonly kind: StreamKind;
  readonly channel: number;
  readonly target: string;
  protocol: 'tcp' | 'udp' | null;
  state: 'connecting' | 'streaming' | 'paused' | 'ended';
  startedAt: number;
  endedAt: number | null;
  /** Reason of the end: `stopped`, `replaced`, `endOfRecording`, `connectionLost`, `connectFailed: …`. */
  endReason: string | null;
  bytesSent: number;
  packetsSent: number;
  readonly sentVideoFrames: SentFrame[];
  readonly sentAudioFrames: SentFrame[];
  readonly receivedFrames: VoiceFrame[];
}

/** Creates the record of a stream that is about to connect. */
export function createStreamRecord(kind: StreamKind, channel: number, target: string): StreamRecord {
  return {
    kind,
    channel,
    target,
    protocol: null,
    state: 'connecting',
    startedAt: Date.now(),
    endedAt: null,
    endReason: null,
    bytesSent: 0,
    packetsSent: 0,
    sentVideoFrames: [],
    sentAudioFrames: [],
    receivedFrames: [],
  };
}

/** Creates the record of one sent frame of a clip. */
export function createSentFrame(clip: Clip, frame: ClipFrame, timestampMs: number, sequence: number): SentFrame {
  return {
    clipKey: clip.key,
    clipIndex: frame.index,
    sha256: frame.sha256,
    sizeBytes: frame.data.length,
    timestampMs,
    isKeyFrame: frame.isKeyFrame,
    sequence,
  };
}

/** Appends an item; removes the oldest tenth if the list is full. */
export function pushBounded<T>(list: T[], item: T, limit: number): void {
  if (list.length >= limit) list.splice(0, Math.max(1, Math.floor(limit / 10)));
  list.push(item);
}
