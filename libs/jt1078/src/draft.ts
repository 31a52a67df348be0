// Signatures of what is being built; each moves to a file of its own.
import type { MediaPacket } from './packet.ts';
import type { MediaKind, SimBytes } from './tables.ts';

export type GiveUpReason = 'noPacket' | 'tooMuchGarbage';

export interface SplitterCounters {
  packets: number;
  bytes: number;
  skippedBytes: number;
  resyncs: number;
}

/** TCP bytes to packets. A packet (and its body) is valid only inside the callback. */
export declare class PacketSplitter {
  constructor(options: { onPacket: (packet: MediaPacket) => void; simBytes?: SimBytes });
  readonly counters: Readonly<SplitterCounters>;
  readonly simBytes: SimBytes | null;
  /** Set when the connection should be closed. */
  readonly giveUp: GiveUpReason | null;
  push(chunk: Uint8Array): void;
  /** The connection ended or has been quiet for a while: decide what was waiting for the next magic. */
  settle(): void;
}

/** UDP datagrams of one peer to packets. Packets stay valid as long as the datagram's buffer. */
export declare class DatagramReader {
  constructor(options: { onPacket: (packet: MediaPacket) => void; simBytes?: SimBytes });
  readonly counters: Readonly<{ datagrams: number; packets: number; droppedDatagrams: number }>;
  readonly simBytes: SimBytes | null;
  push(datagram: Buffer): void;
}

/** Orders the packets of one UDP peer. */
export declare class ReorderWindow {
  constructor(options: { onPacket: (packet: MediaPacket) => void; size?: number; maxDelayMs?: number });
  readonly counters: Readonly<{ packets: number; lost: number; duplicates: number; late: number; restarts: number }>;
  /** When `expire` should be called next, or null when nothing waits. */
  readonly deadlineMs: number | null;
  push(packet: MediaPacket, nowMs: number): void;
  expire(nowMs: number): void;
  flush(): void;
}

/** A whole frame. `data` is valid only inside the callback. */
export interface MediaFrame {
  kind: MediaKind;
  sim: string;
  simBytes: SimBytes;
  channel: number;
  payloadType: number;
  dataType: number;
  /** Lower 32 bits of the device's timestamp; 0 for transparent data. */
  timestampLow: number;
  timestampHigh: number;
  lastIFrameIntervalMs: number | null;
  lastFrameIntervalMs: number | null;
  /** Packets the frame came in. */
  packets: number;
  /** Arrival of its last packet, as handed to `push`. */
  arrivalMs: number;
  /** Frames that others may refer to were lost before this one. */
  discontinuity: boolean;
  data: Buffer;
}

/** Packets of one connection (or UDP peer), any number of SIMs and channels, to frames. */
export declare class FrameAssembler {
  constructor(options: { onFrame: (frame: MediaFrame) => void; maxFrameBytes?: number; maxFrameAgeMs?: number });
  readonly counters: Readonly<{ frames: number; brokenFrames: number; sequenceGaps: number; lostPackets: number }>;
  push(packet: MediaPacket, nowMs: number): void;
  /** Drops what has been pending for too long; call now and then. */
  expire(nowMs: number): void;
  /** End of the connection: emits what only waited for its successor. */
  flush(): void;
}

export type FlvTrack = 'script' | 'video' | 'audio' | 'audioCopy';

/** One FLV tag, made once and written to every viewer. */
export interface FlvTag {
  /** 8 audio, 9 video, 18 script. */
  readonly type: 8 | 9 | 18;
  /**
   * Who gets it: `audio` is what browsers play (AAC, MP3; own or transcoded), `audioCopy` the camera's G.711 for `audio=copy`.
   * When the camera itself sends AAC or MP3 there are only `audio` tags, good for both.
   */
  readonly track: FlvTrack;
  /** On the stream's clock, which starts at 0 and never goes back within a track. */
  readonly timestampMs: number;
  readonly isKeyFrame: boolean;
  readonly isSequenceHeader: boolean;
  /** A non-reference picture: may be left out for a slow viewer without harm to the rest. */
  readonly isDisposable: boolean;
  /** 11-byte header with `timestampMs`, body, previous tag size: write this when the viewer's clock is the stream's. */
  readonly wire: Buffer;
  /** Body and previous tag size (a view of `wire`): write this after an own 11-byte header (`writeTagHeader`). */
  readonly rest: Buffer;
  readonly bodyLength: number;
}

/** The 13 bytes at the start of an FLV stream. */
export declare function flvHeader(has: { video: boolean; audio: boolean }): Buffer;
/** Writes the 11-byte tag header for a tag at `timestampMs`; `tag.rest` follows it. Gives `offset + 11`. */
export declare function writeTagHeader(target: Buffer, offset: number, tag: FlvTag, timestampMs: number): number;
/** The same H.265 tag in the codec id 12 form (`hevc=legacy`); made once per tag. Other tags come back as they are. */
export declare function legacyHevcTag(tag: FlvTag): FlvTag;

export interface VideoInfo {
  codec: 'h264' | 'h265';
  width: number;
  height: number;
  profile: number;
  level: number;
  /** RFC 6381 string as browsers want it, such as `avc1.4d0014`. */
  codecString: string;
}

/** Audio that has to be transcoded: arguments for ffmpeg's raw input, and the bytes to feed. */
export interface TranscodeInput {
  /** ffmpeg `-f`. */
  format: 'alaw' | 'mulaw' | 'g726le' | 's16le' | 's16be' | 'g722' | 'amrnb';
  /** Bits per code of G.726 (`-code_size`), else null. */
  codeSize: number | null;
  sampleRate: number;
  channels: number;
  /** Owned by the receiver. */
  data: Buffer;
  /** Stream clock of its first sample. */
  timestampMs: number;
  durationMs: number;
}

export interface StreamMuxerOptions {
  onTag: (tag: FlvTag) => void;
  onTranscode?: (input: TranscodeInput) => void;
  /** `arrival` paces by arrival: history at a speed other than 1, and rewind. */
  pace?: 'device' | 'arrival';
  /** AAC without ADTS: what 0x1003 says. 8 kHz mono by default. */
  aac?: { sampleRate: number; channels: number };
  /** G.726 bits per code where the frame size does not tell. */
  g726CodeSize?: number;
}

/** Frames of one (SIM, channel) to FLV tags: sequence headers, key frames, timestamps. One per stream, kept over reconnects. */
export declare class StreamMuxer {
  constructor(options: StreamMuxerOptions);
  readonly video: VideoInfo | null;
  /** Source audio, null while there is none. */
  readonly audio: { codec: string; sampleRate: number; channels: number; needsTranscoding: boolean } | null;
  /** The latest sequence headers, for viewers that join. */
  readonly videoSequenceHeader: FlvTag | null;
  readonly audioSequenceHeader: FlvTag | null;
  readonly counters: Readonly<{
    videoFrames: number;
    keyFrames: number;
    audioFrames: number;
    droppedVideoFrames: number;
    droppedAudioFrames: number;
  }>;
  push(frame: MediaFrame): void;
  /** Emits a frame that waits for its successor (only streams that send one slice per frame wait). */
  flush(): void;
  /** A new connection, a seek, another speed: the output clock goes on, the device's clock starts anew. */
  restart(options?: { pace?: 'device' | 'arrival' }): void;
  /** A frame from the transcoder, with ADTS header. */
  pushTranscodedAac(adtsFrame: Buffer, timestampMs: number): void;
  /** onMetaData for a viewer; `audio` false when the viewer gets none. `legacyHevc` as the viewer's `hevc`. */
  metadata(viewer: { audio: boolean; audioCopy?: boolean; legacyHevc?: boolean }): FlvTag;
}

/** Times of transcoded frames: fed time and duration in, times of output frames out; anchors anew after a gap in the input. */
export declare class TranscodeClock {
  fed(timestampMs: number, durationMs: number): void;
  /** Time of the next output frame. */
  next(sampleRate: number, samples?: number): number;
}

/** ffmpeg's ADTS output to frames (header included). */
export declare class AdtsSplitter {
  constructor(onFrame: (frame: Buffer) => void);
  push(chunk: Buffer): void;
}

export interface DemuxedTag {
  type: number;
  timestampMs: number;
  body: Buffer;
}

/** FLV bytes to tags, for tests and tools. */
export declare class FlvDemuxer {
  constructor(onTag: (tag: DemuxedTag) => void);
  readonly header: { video: boolean; audio: boolean } | null;
  push(chunk: Buffer): void;
}

/** The video of an FLV file as Annex B elementary stream (H.264; H.265 in both forms), for ffmpeg and ffprobe. */
export declare function flvToAnnexB(flv: Buffer): {
  codec: 'h264' | 'h265' | null;
  data: Buffer;
  timestampsMs: number[];
};
/** The AAC of an FLV file as ADTS stream. */
export declare function flvToAdts(flv: Buffer): Buffer;

/** One access unit (picture with its parameter sets) of an elementary stream. */
export interface AccessUnit {
  data: Buffer;
  isKeyFrame: boolean;
}
/** Cuts an Annex B elementary stream into access units: one each is one JT/T 1078 frame. */
export declare function splitAccessUnits(stream: Buffer, codec: 'h264' | 'h265'): AccessUnit[];

export declare function encodeG711A(pcm: Int16Array): Buffer;
export declare function encodeG711U(pcm: Int16Array): Buffer;
export declare function decodeG711A(data: Uint8Array): Int16Array;
export declare function decodeG711U(data: Uint8Array): Int16Array;
/** IMA ADPCM of PT 26: each frame carries its state; keep one encoder per stream. */
export declare class AdpcmEncoder {
  constructor(options?: { hisiliconHeader?: boolean });
  encode(pcm: Int16Array): Buffer;
}
export declare function decodeAdpcm(frame: Uint8Array): Int16Array;
/** Puts the 4-byte Hisilicon header before an audio frame. */
export declare function addHisiliconHeader(frame: Uint8Array): Buffer;
export declare function stripHisiliconHeader(frame: Buffer): Buffer;
