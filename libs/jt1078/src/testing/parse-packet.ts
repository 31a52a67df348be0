import { getPacketLength, isMagic, type MediaPacket, minPacketBytes, readPacket } from '../packet.ts';
import { DataType, type SimBytes } from '../tables.ts';

/** Parses one packet at the start of `buffer`. Returns null unless it is a complete packet of that SIM width. */
export function parsePacket(buffer: Buffer, simBytes: SimBytes): MediaPacket | null {
  if (buffer.length < minPacketBytes || !isMagic(buffer, 0)) return null;
  const length = getPacketLength(buffer, 0, buffer.length, simBytes);
  return length <= 0 || length > buffer.length ? null : readPacket(buffer, 0, simBytes);
}

/** Returns the 64-bit timestamp of a packet, or null for transparent data, which has none. */
export function getPacketTimestamp(packet: MediaPacket): bigint | null {
  if (packet.dataType === DataType.TRANSPARENT) return null;
  return (BigInt(packet.timestampHigh) << 32n) | BigInt(packet.timestampLow);
}
