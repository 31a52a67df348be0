import { isMagic, packetLength } from './packet.ts';
import { DataType, PayloadType, type SimBytes, SubpackageMark } from './tables.ts';

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

/** True when every half byte is a decimal digit, as in a SIM number. */
export function isBcd(buffer: Buffer, from: number, to: number): boolean {
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

/**
 * How much a reading makes sense beyond its lengths. Needed: an audio header with a 10-byte SIM is as long as a video
 * header with a 6-byte SIM, and its length field stands at the same place.
 */
function score(buffer: Buffer, at: number, simBytes: SimBytes): number {
  const payloadType = (buffer[at + 5] ?? 0) & 0x7f;
  const dataType = (buffer[at + simBytes + 9] ?? 0) >> 4;
  const isVideoPayload = payloadType >= PayloadType.H264 && payloadType <= PayloadType.SVAC;
  const isVideo = dataType <= DataType.B;
  let points = bodyFits(buffer, at, simBytes) ? 1 : 0;
  if (isVideoPayload === isVideo) points += 2;
  // Milliseconds since 1970 need 41 bits.
  if (dataType !== DataType.TRANSPARENT && buffer[at + simBytes + 10] === 0 && buffer[at + simBytes + 11] === 0)
    points++;
  return points;
}

/** Which width fits better when both do; 6 bytes is the standard's. */
function prefer(buffer: Buffer, at: number): WidthDecision {
  const six = score(buffer, at, 6);
  const ten = score(buffer, at, 10);
  return { simBytes: ten > six ? 10 : 6, certainty: six === ten ? 'even' : 'likely' };
}

/** The outcome of looking at the first packet: a width, `none` when neither fits, or how many bytes to wait for. */
export type WidthDecision =
  | { simBytes: SimBytes; certainty: 'certain' | 'likely' | 'incomplete' | 'even' }
  | { missingBytes: number }
  | 'none';

/**
 * Tells the SIM width from the first packet. With `noMore`, the end of the data counts as what follows a packet: a
 * datagram, or a connection that has ended or fallen silent.
 */
export function decideSimWidth(buffer: Buffer, at: number, end: number, noMore: boolean): WidthDecision {
  const six = readAs(buffer, at, end, 6);
  const ten = readAs(buffer, at, end, 10);
  const fits = (reading: Reading): boolean =>
    reading.verdict === 'followed' || (noMore && reading.verdict === 'ends' && reading.missingBytes === 4);
  if (fits(six) && fits(ten)) return prefer(buffer, at);
  const sure = ({ verdict }: Reading): 'certain' | 'likely' => (verdict === 'followed' ? 'certain' : 'likely');
  if (fits(six)) return { simBytes: 6, certainty: sure(six) };
  if (fits(ten)) return { simBytes: 10, certainty: sure(ten) };
  if (six.verdict === 'impossible' && ten.verdict === 'impossible') return 'none';
  // A reading that is not even complete (a truncated datagram, say) proves nothing yet.
  const certainty = ({ verdict }: Reading): 'incomplete' | 'likely' => (verdict === 'incomplete' ? verdict : 'likely');
  if (ten.verdict === 'impossible') return { simBytes: 6, certainty: certainty(six) };
  if (six.verdict === 'impossible') return { simBytes: 10, certainty: certainty(ten) };
  return { missingBytes: Math.min(six.missingBytes, ten.missingBytes) };
}

/** Likely decisions for one width in a row that make it certain. */
const ENOUGH_VOTES = 4;

/** The SIM width of one connection or UDP peer: detected anew for each packet until it is certain, then kept. */
export class SimWidth {
  #simBytes: SimBytes | null;
  #isCertain: boolean;
  #votes = 0;

  constructor(simBytes: SimBytes | undefined) {
    this.#simBytes = simBytes ?? null;
    this.#isCertain = simBytes !== undefined;
  }

  get simBytes(): SimBytes | null {
    return this.#simBytes;
  }

  /** The width of the packet at `at`, `none` when neither fits, or how many bytes to wait for. */
  at(buffer: Buffer, at: number, end: number, noMore: boolean): SimBytes | { missingBytes: number } | 'none' {
    if (this.#isCertain && this.#simBytes !== null) return this.#simBytes;
    const decision = decideSimWidth(buffer, at, end, noMore);
    if (decision === 'none') return 'none';
    if ('missingBytes' in decision) return this.#simBytes ?? decision;
    if (decision.certainty === 'incomplete') return decision.simBytes;
    if (decision.certainty === 'even') return this.#simBytes ?? decision.simBytes;
    this.#votes = decision.simBytes === this.#simBytes ? this.#votes + 1 : 1;
    this.#simBytes = decision.simBytes;
    this.#isCertain = decision.certainty === 'certain' || this.#votes >= ENOUGH_VOTES;
    return decision.simBytes;
  }

  /** What was not certain is forgotten. */
  loseSync(): void {
    if (this.#isCertain) return;
    this.#simBytes = null;
    this.#votes = 0;
  }
}
