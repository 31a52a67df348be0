import { DataType, type SimBytes, SubpackageMark } from './tables.ts';

/** Length of the shortest packet: transparent data with a 6-byte SIM and an empty body. */
export const minPacketBytes = 18;

/** One packet of JT/T 1078-2016 table 19. `body` is a view of the parsed bytes. */
export interface MediaPacket {
  /** Byte 4: V, P, X, CC; normally 0x81, ignored by the parser. */
  flags: number;
  marker: boolean;
  payloadType: number;
  sequence: number;
  /** All digits of the BCD field, including leading zeros. */
  sim: string;
  simBytes: SimBytes;
  channel: number;
  dataType: number;
  subpackage: number;
  /** Upper and lower 32 bits of the timestamp; both 0 when there is none (transparent data). */
  timestampHigh: number;
  timestampLow: number;
  /** Intervals of video, otherwise null. Informative only, as devices write arbitrary values. */
  lastIFrameIntervalMs: number | null;
  lastFrameIntervalMs: number | null;
  headerBytes: number;
  body: Buffer;
}

/** Returns true where a packet may begin. Ignores the top bit of the first byte, which some devices set. */
export function isMagic(buffer: Buffer, at: number): boolean {
  return (
    buffer[at + 1] === 0x31 &&
    buffer[at + 2] === 0x63 &&
    buffer[at + 3] === 0x64 &&
    (buffer[at] === 0x30 || buffer[at] === 0xb0)
  );
}

/** Returns the header length for a data type and SIM width, or 0 for an undefined data type. */
function getHeaderLength(dataType: number, simBytes: SimBytes): number {
  if (dataType <= DataType.B) return 24 + simBytes;
  if (dataType === DataType.AUDIO) return 20 + simBytes;
  return dataType === DataType.TRANSPARENT ? 12 + simBytes : 0;
}

/**
 * Returns the total length of the packet at `at`, 0 when its header is invalid, or minus the number of bytes missing
 * for a decision. Requires no more than the header of the data type, as a transparent packet is shorter than a video
 * header.
 */
export function getPacketLength(buffer: Buffer, at: number, end: number, simBytes: SimBytes): number {
  const markAt = at + simBytes + 9;
  if (markAt >= end) return end - markAt - 1;
  const mark = buffer[markAt] ?? 0;
  const header = getHeaderLength(mark >> 4, simBytes);
  if (header === 0 || (mark & 0x0f) > SubpackageMark.MIDDLE) return 0;
  const bodyAt = at + header;
  if (bodyAt > end) return end - bodyAt;
  return header + (((buffer[bodyAt - 2] ?? 0) << 8) | (buffer[bodyAt - 1] ?? 0));
}

/** Parses the packet at `at`, which must be complete and of the given SIM width. `sim` may supply the known digits. */
export function readPacket(buffer: Buffer, at: number, simBytes: SimBytes, sim?: string): MediaPacket {
  const afterSim = at + 8 + simBytes;
  const mark = buffer[afterSim + 1] ?? 0;
  const dataType = mark >> 4;
  const headerBytes = getHeaderLength(dataType, simBytes);
  const isVideo = dataType <= DataType.B;
  const hasTime = dataType !== DataType.TRANSPARENT;
  const bodyAt = at + headerBytes;
  const typeByte = buffer[at + 5] ?? 0;
  return {
    flags: buffer[at + 4] ?? 0,
    marker: typeByte >= 0x80,
    payloadType: typeByte & 0x7f,
    sequence: ((buffer[at + 6] ?? 0) << 8) | (buffer[at + 7] ?? 0),
    sim: sim ?? buffer.toString('hex', at + 8, afterSim),
    simBytes,
    channel: buffer[afterSim] ?? 0,
    dataType,
    subpackage: mark & 0x0f,
    timestampHigh: hasTime ? buffer.readUInt32BE(afterSim + 2) : 0,
    timestampLow: hasTime ? buffer.readUInt32BE(afterSim + 6) : 0,
    lastIFrameIntervalMs: isVideo ? buffer.readUInt16BE(afterSim + 10) : null,
    lastFrameIntervalMs: isVideo ? buffer.readUInt16BE(afterSim + 12) : null,
    headerBytes,
    body: buffer.subarray(bodyAt, bodyAt + (((buffer[bodyAt - 2] ?? 0) << 8) | (buffer[bodyAt - 1] ?? 0))),
  };
}

/** Fields of a packet to encode. Omitted numbers are 0, and an omitted marker is true. */
export interface PacketFields {
  /** Digits only; left-padded with zeros to the SIM width. */
  sim: string;
  /** 6 by default, 10 if the SIM has more than 12 digits. */
  simBytes?: SimBytes | undefined;
  channel: number;
  payloadType: number;
  dataType: number;
  subpackage?: number | undefined;
  sequence: number;
  timestamp?: number | bigint | undefined;
  lastIFrameIntervalMs?: number | null | undefined;
  lastFrameIntervalMs?: number | null | undefined;
  marker?: boolean | undefined;
  /** Byte 4; 0x81 by the standard. */
  flags?: number | undefined;
  body: Uint8Array;
}

const clampInterval = (ms: number | null | undefined): number => Math.min(0xffff, Math.max(0, Math.trunc(ms ?? 0)));

/** Encodes one packet of JT/T 1078-2016 table 19. */
export function encodePacket(fields: PacketFields): Buffer {
  const simBytes = fields.simBytes ?? (fields.sim.length > 12 ? 10 : 6);
  const header = getHeaderLength(fields.dataType, simBytes);
  if (header === 0) throw new RangeError(`data type ${fields.dataType} is undefined`);
  if (!/^\d+$/.test(fields.sim) || fields.sim.length > simBytes * 2) {
    throw new RangeError(`SIM must be 1 to ${simBytes * 2} digits`);
  }
  if (fields.body.length > 0xffff) throw new RangeError(`a body of ${fields.body.length} bytes does not fit a packet`);
  const packet = Buffer.allocUnsafe(header + fields.body.length);
  packet.writeUInt32BE(0x30316364, 0);
  packet[4] = fields.flags ?? 0x81;
  packet[5] = ((fields.marker ?? true) ? 0x80 : 0) | (fields.payloadType & 0x7f);
  packet.writeUInt16BE(fields.sequence & 0xffff, 6);
  packet.write(fields.sim.padStart(simBytes * 2, '0'), 8, simBytes, 'hex');
  const afterSim = 8 + simBytes;
  packet[afterSim] = fields.channel & 0xff;
  packet[afterSim + 1] = (fields.dataType << 4) | ((fields.subpackage ?? SubpackageMark.ATOMIC) & 0x0f);
  if (fields.dataType !== DataType.TRANSPARENT) {
    packet.writeBigUInt64BE(BigInt.asUintN(64, BigInt(fields.timestamp ?? 0)), afterSim + 2);
  }
  if (fields.dataType <= DataType.B) {
    packet.writeUInt16BE(clampInterval(fields.lastIFrameIntervalMs), afterSim + 10);
    packet.writeUInt16BE(clampInterval(fields.lastFrameIntervalMs), afterSim + 12);
  }
  packet.writeUInt16BE(fields.body.length, header - 2);
  packet.set(fields.body, header);
  return packet;
}

/** Frame to split into packets. `sequence` is that of the first packet. */
interface FrameFields extends Omit<PacketFields, 'subpackage' | 'marker' | 'body'> {
  data: Uint8Array;
  /** Maximum body length of one packet, 950 by the standard. */
  maxBody?: number | undefined;
}

/** Splits one frame into packets. The sequence of the next frame is `sequence + packets.length` (modulo 65536). */
export function packetizeFrame(frame: FrameFields): Buffer[] {
  const { data, maxBody = 950, ...fields } = frame;
  if (!Number.isInteger(maxBody) || maxBody < 1 || maxBody > 0xffff) throw new RangeError('maxBody must be 1 to 65535');
  const count = Math.max(1, Math.ceil(data.length / maxBody));
  const packets: Buffer[] = [];
  for (let i = 0; i < count; i++) {
    const isLast = i === count - 1;
    packets.push(
      encodePacket({
        ...fields,
        sequence: (fields.sequence + i) & 0xffff,
        marker: isLast,
        subpackage: getSubpackageMark(i, count),
        body: data.subarray(i * maxBody, (i + 1) * maxBody),
      }),
    );
  }
  return packets;
}

function getSubpackageMark(index: number, count: number): number {
  if (count === 1) return SubpackageMark.ATOMIC;
  if (index === 0) return SubpackageMark.FIRST;
  return index === count - 1 ? SubpackageMark.LAST : SubpackageMark.MIDDLE;
}
