import { isMagic, packetLength } from './packet.ts';
import { DataType, type SimBytes, SubpackageMark } from './tables.ts';

/** How well the bytes fit a packet of one SIM width. */
export type Verdict = 'impossible' | 'incomplete' | 'ends' | 'followed';

/** `ends`: complete, but the next magic is not (wholly) there yet. `missingBytes`: how many would settle more. */
export interface Reading {
  verdict: Verdict;
  missingBytes: number;
}

const IMPOSSIBLE: Reading = { verdict: 'impossible', missingBytes: 0 };
const FOLLOWED: Reading = { verdict: 'followed', missingBytes: 0 };
const MAGIC = [0x30, 0x31, 0x63, 0x64];

function isBcd(buffer: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = buffer[i] ?? 0;
    if ((byte & 0x0f) > 9 || byte >> 4 > 9) return false;
  }
  return true;
}

/** Reads the packet at `at` as one of the given width: digits, data type, mark, and the magic after the stated length. */
export function readAs(buffer: Buffer, at: number, end: number, simBytes: SimBytes): Reading {
  if (!isBcd(buffer, at + 8, Math.min(at + 8 + simBytes, end))) return IMPOSSIBLE;
  const length = packetLength(buffer, at, end, simBytes);
  if (length === 0) return IMPOSSIBLE;
  if (length < 0) return { verdict: 'incomplete', missingBytes: -length };
  const next = at + length;
  if (next > end) return { verdict: 'incomplete', missingBytes: next - end };
  if (next + 4 <= end) return isMagic(buffer, next) ? FOLLOWED : IMPOSSIBLE;
  for (let i = next; i < end; i++) {
    const byte = buffer[i] ?? 0;
    if ((i === next ? byte & 0x7f : byte) !== MAGIC[i - next]) return IMPOSSIBLE;
  }
  return { verdict: 'ends', missingBytes: next + 4 - end };
}

/** True when the body begins as the data type and mark say: a start code in the first packet of a video frame. */
function bodyFits(buffer: Buffer, at: number, simBytes: SimBytes): boolean {
  const mark = buffer[at + simBytes + 9] ?? 0;
  const isVideo = mark >> 4 <= DataType.B;
  const begins = (mark & 0x0f) <= SubpackageMark.FIRST;
  if (!isVideo || !begins) return true;
  const body = at + 24 + simBytes;
  if (buffer[body] !== 0 || buffer[body + 1] !== 0) return false;
  return buffer[body + 2] === 1 || (buffer[body + 2] === 0 && buffer[body + 3] === 1);
}

/** Which width fits better when both do; 6 bytes is the standard's. */
function preferred(buffer: Buffer, at: number): SimBytes {
  return !bodyFits(buffer, at, 6) && bodyFits(buffer, at, 10) ? 10 : 6;
}

/** The outcome of looking at the first packet: a width, `none` when neither fits, or how many bytes to wait for. */
export type WidthDecision = { simBytes: SimBytes; certain: boolean } | { missingBytes: number } | 'none';

/**
 * Tells the SIM width from the first packet. With `noMore`, the end of the data counts as what follows a packet: a
 * datagram, or a connection that has ended or fallen silent.
 */
export function decideSimWidth(buffer: Buffer, at: number, end: number, noMore: boolean): WidthDecision {
  const six = readAs(buffer, at, end, 6);
  const ten = readAs(buffer, at, end, 10);
  const fits = (reading: Reading): boolean =>
    reading.verdict === 'followed' || (noMore && reading.verdict === 'ends' && reading.missingBytes === 4);
  if (fits(six) && fits(ten)) return { simBytes: preferred(buffer, at), certain: false };
  if (fits(six)) return { simBytes: 6, certain: true };
  if (fits(ten)) return { simBytes: 10, certain: true };
  if (six.verdict === 'impossible' && ten.verdict === 'impossible') return 'none';
  if (ten.verdict === 'impossible') return { simBytes: 6, certain: false };
  if (six.verdict === 'impossible') return { simBytes: 10, certain: false };
  return { missingBytes: Math.min(six.missingBytes, ten.missingBytes) };
}
