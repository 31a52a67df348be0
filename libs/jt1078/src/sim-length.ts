import { getPacketLength, isMagic } from './packet.ts';
import { DataType, PayloadType, type SimBytes, SubpackageMark } from './tables.ts';

/** How well the bytes fit a packet of one SIM width. */
export type MatchVerdict = 'impossible' | 'incomplete' | 'ends' | 'followed';

/** `ends`: complete, but the next magic is not (wholly) there yet. `missingBytes`: how many would settle more. */
export interface PacketMatch {
  verdict: MatchVerdict;
  missingBytes: number;
}

const impossibleMatch: PacketMatch = { verdict: 'impossible', missingBytes: 0 };
const followedMatch: PacketMatch = { verdict: 'followed', missingBytes: 0 };
const magicBytes = [0x30, 0x31, 0x63, 0x64];

/** True when every half byte is a decimal digit, as in a SIM number. */
export function isBcd(buffer: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = buffer[i] ?? 0;
    if ((byte & 0x0f) > 9 || byte >> 4 > 9) return false;
  }
  return true;
}

/** Reads the packet at `at` as one of the given width: digits, data type, mark, and the magic after the stated length. */
export function matchPacket(buffer: Buffer, at: number, end: number, simBytes: SimBytes): PacketMatch {
  if (!isBcd(buffer, at + 8, Math.min(at + 8 + simBytes, end))) return impossibleMatch;
  const length = getPacketLength(buffer, at, end, simBytes);
  if (length === 0) return impossibleMatch;
  if (length < 0) return { verdict: 'incomplete', missingBytes: -length };
  const next = at + length;
  if (next > end) return { verdict: 'incomplete', missingBytes: next - end };
  if (next + 4 <= end) return isMagic(buffer, next) ? followedMatch : impossibleMatch;
  for (let i = next; i < end; i++) {
    const byte = buffer[i] ?? 0;
    if ((i === next ? byte & 0x7f : byte) !== magicBytes[i - next]) return impossibleMatch;
  }
  return { verdict: 'ends', missingBytes: next + 4 - end };
}

/** True when the body begins as the data type and mark say: a start code in the first packet of a video frame. */
function isBodyPlausible(buffer: Buffer, at: number, simBytes: SimBytes): boolean {
  const mark = buffer[at + simBytes + 9] ?? 0;
  const isVideo = mark >> 4 <= DataType.B;
  const startsFrame = (mark & 0x0f) <= SubpackageMark.FIRST;
  if (!isVideo || !startsFrame) return true;
  const body = at + 24 + simBytes;
  if (buffer[body] !== 0 || buffer[body + 1] !== 0) return false;
  return buffer[body + 2] === 1 || (buffer[body + 2] === 0 && buffer[body + 3] === 1);
}

/**
 * How much a reading makes sense beyond its lengths. Needed: an audio header with a 10-byte SIM is as long as a video
 * header with a 6-byte SIM, and its length field stands at the same place.
 */
function scoreMatch(buffer: Buffer, at: number, simBytes: SimBytes): number {
  const payloadType = (buffer[at + 5] ?? 0) & 0x7f;
  const dataType = (buffer[at + simBytes + 9] ?? 0) >> 4;
  const isVideoPayload = payloadType >= PayloadType.H264 && payloadType <= PayloadType.SVAC;
  const isVideo = dataType <= DataType.B;
  let points = isBodyPlausible(buffer, at, simBytes) ? 1 : 0;
  if (isVideoPayload === isVideo) points += 2;
  // Milliseconds since 1970 need 41 bits.
  if (dataType !== DataType.TRANSPARENT && buffer[at + simBytes + 10] === 0 && buffer[at + simBytes + 11] === 0)
    points++;
  return points;
}

/** Which width fits better when both do; 6 bytes is the standard's. */
function chooseLikelier(buffer: Buffer, at: number): SimLengthDecision {
  const score6 = scoreMatch(buffer, at, 6);
  const score10 = scoreMatch(buffer, at, 10);
  return { simBytes: score10 > score6 ? 10 : 6, certainty: score6 === score10 ? 'even' : 'likely' };
}

/** The outcome of looking at the first packet: a width, `none` when neither fits, or how many bytes to wait for. */
export type SimLengthDecision =
  | { simBytes: SimBytes; certainty: 'certain' | 'likely' | 'incomplete' | 'even' }
  | { missingBytes: number }
  | 'none';

/**
 * Tells the SIM width from the first packet. With `noMore`, the end of the data counts as what follows a packet: a
 * datagram, or a connection that has ended or fallen silent.
 */
export function detectSimLength(buffer: Buffer, at: number, end: number, isEnd: boolean): SimLengthDecision {
  const match6 = matchPacket(buffer, at, end, 6);
  const match10 = matchPacket(buffer, at, end, 10);
  const isMatch = (match: PacketMatch): boolean =>
    match.verdict === 'followed' || (isEnd && match.verdict === 'ends' && match.missingBytes === 4);
  if (isMatch(match6) && isMatch(match10)) return chooseLikelier(buffer, at);
  const matchCertainty = ({ verdict }: PacketMatch): 'certain' | 'likely' =>
    verdict === 'followed' ? 'certain' : 'likely';
  if (isMatch(match6)) return { simBytes: 6, certainty: matchCertainty(match6) };
  if (isMatch(match10)) return { simBytes: 10, certainty: matchCertainty(match10) };
  if (match6.verdict === 'impossible' && match10.verdict === 'impossible') return 'none';
  // A reading that is not even complete (a truncated datagram, say) proves nothing yet.
  const partialCertainty = ({ verdict }: PacketMatch): 'incomplete' | 'likely' =>
    verdict === 'incomplete' ? verdict : 'likely';
  if (match10.verdict === 'impossible') return { simBytes: 6, certainty: partialCertainty(match6) };
  if (match6.verdict === 'impossible') return { simBytes: 10, certainty: partialCertainty(match10) };
  return { missingBytes: Math.min(match6.missingBytes, match10.missingBytes) };
}

/** Likely decisions for one width in a row that make it certain. */
const votesForCertainty = 4;

/** The SIM width of one connection or UDP peer: detected again for each packet until it is certain, then kept. */
export class SimLengthDetector {
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
  detect(buffer: Buffer, at: number, end: number, isEnd: boolean): SimBytes | { missingBytes: number } | 'none' {
    if (this.#isCertain && this.#simBytes !== null) return this.#simBytes;
    const decision = detectSimLength(buffer, at, end, isEnd);
    if (decision === 'none') return 'none';
    if ('missingBytes' in decision) return this.#simBytes ?? decision;
    if (decision.certainty === 'incomplete') return decision.simBytes;
    if (decision.certainty === 'even') return this.#simBytes ?? decision.simBytes;
    this.#votes = decision.simBytes === this.#simBytes ? this.#votes + 1 : 1;
    this.#simBytes = decision.simBytes;
    this.#isCertain = decision.certainty === 'certain' || this.#votes >= votesForCertainty;
    return decision.simBytes;
  }

  /** What was not certain is forgotten. */
  reset(): void {
    if (this.#isCertain) return;
    this.#simBytes = null;
    this.#votes = 0;
  }
}
