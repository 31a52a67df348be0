import {
  createFlvHeader,
  encodePacket,
  type FlvTag,
  FrameAssembler,
  type MediaFrame,
  type MediaPacket,
  type PacketFields,
  PacketSplitter,
  packetizeFrame,
  readPacket,
  StreamMuxer,
  type StreamMuxerOptions,
  type TranscodeInput,
} from '../index.ts';

/** Creates a packet with its own bytes from fields. */
export const createPacket = (fields: Partial<PacketFields>): MediaPacket => {
  const all = {
    sim: '013800138000',
    channel: 1,
    payloadType: 98,
    dataType: 1,
    sequence: 0,
    body: Buffer.alloc(0),
    ...fields,
  };
  return readPacket(encodePacket(all), 0, all.simBytes ?? 6);
};

export interface PipelineOutput {
  packets: MediaPacket[];
  frames: MediaFrame[];
  tags: FlvTag[];
  transcode: TranscodeInput[];
  muxer: StreamMuxer;
  splitter: PacketSplitter;
  assembler: FrameAssembler;
}

/** Copies a frame or packet, so that it stays valid after its callback. */
const copyOf = <T extends { data: Buffer } | { body: Buffer }>(item: T): T => {
  const copy = { ...item };
  if ('data' in copy) copy.data = Buffer.from(copy.data);
  if ('body' in copy) copy.body = Buffer.from(copy.body);
  return copy;
};

/** Creates the pipeline from TCP bytes to tags, recording every intermediate result. */
export function createPipeline(options: Partial<StreamMuxerOptions> = {}, now: () => number = () => 0): PipelineOutput {
  const packets: MediaPacket[] = [];
  const frames: MediaFrame[] = [];
  const tags: FlvTag[] = [];
  const transcode: TranscodeInput[] = [];
  const muxer = new StreamMuxer({
    onTag: (tag) => tags.push(tag),
    onTranscode: (input) => transcode.push(input),
    ...options,
  });
  const assembler = new FrameAssembler({
    onFrame: (frame) => {
      frames.push(copyOf(frame));
      muxer.push(frame);
    },
  });
  const splitter = new PacketSplitter({
    onPacket: (packet) => {
      packets.push(copyOf(packet));
      assembler.push(packet, now());
    },
  });
  return { packets, frames, tags, transcode, muxer, splitter, assembler };
}

/** Runs bytes through the pipeline, in chunks of `chunkBytes`. */
export function runTcp(
  bytes: Buffer,
  chunkBytes = bytes.length,
  options: Partial<StreamMuxerOptions> = {},
): PipelineOutput {
  const output = createPipeline(options);
  for (let at = 0; at < bytes.length; at += chunkBytes) {
    // A copy that is overwritten afterwards, as nothing may be retained by reference.
    const chunk = Buffer.from(bytes.subarray(at, at + chunkBytes));
    output.splitter.push(chunk);
    chunk.fill(0xee);
  }
  output.splitter.flush();
  output.assembler.flush();
  output.muxer.flush();
  return output;
}

/** Builds the FLV that a viewer of some tracks would receive. */
export function buildFlv(output: PipelineOutput, tracks: readonly string[] = ['video']): Buffer {
  const hasAudioTrack = tracks.some((track) => track.startsWith('audio'));
  const audio = tracks.includes('audioCopy') ? 'copy' : hasAudioTrack ? 'aac' : 'none';
  return Buffer.concat([
    createFlvHeader({ video: tracks.includes('video'), audio: hasAudioTrack }),
    output.muxer.createMetadata({ audio }).wire,
    ...output.tags.filter((tag) => tracks.includes(tag.track)).map((tag) => tag.wire),
  ]);
}

export interface SyntheticFrame {
  data: Buffer;
  dataType: number;
  payloadType: number;
  timestampMs: number;
}

/** Splits frames into the packets of one TCP stream, with a shared sequence counter. */
export function packetizeFrames(
  frames: readonly SyntheticFrame[],
  options: { sim?: string; simBytes?: 6 | 10; channel?: number; maxBody?: number; sequence?: number } = {},
): Buffer[] {
  let sequence = options.sequence ?? 0;
  return frames.flatMap((frame) => {
    const packets = packetizeFrame({
      sim: options.sim ?? '013800138000',
      simBytes: options.simBytes,
      channel: options.channel ?? 1,
      payloadType: frame.payloadType,
      dataType: frame.dataType,
      sequence,
      timestamp: frame.timestampMs,
      data: frame.data,
      maxBody: options.maxBody,
    });
    sequence = (sequence + packets.length) & 0xffff;
    return packets;
  });
}

/** Removes spaces from hex digits written in groups. */
export const removeSpaces = (text: string): string => text.replaceAll(' ', '');
