import { getPacketLength, isMagic } from './packet.ts';
import { DataType, PayloadType, type SimBytes, SubpackageMark } from './tables.ts';

/** Result of matching bytes against a packet of one SIM width. */
type MatchVerdict = 'impossible' | 'incomplete' | 'ends' | 'followed';

/**
 * Match of a packet. `ends`: complete, but the next magic is not (completely) available. `missingBytes`: number of
 * bytes that would allow a better decision.
 */
interface PacketMatch {
  verdict: MatchVerdict;
  missingBytes: number;
}

const impossibleMatch: PacketMatch = { verdict: 'impossible', missingBytes: 0 };
const followedMatch: PacketMatch = { verdict: 'followed', missingBytes: 0 };
const magicBytes = [0x30, 0x31, 0x63, 0x64];

/** Returns true when every half byte is a decimal digit, as in a SIM number. */
export function isBcd(buffer: Buffer, from: number, to: number): boolean {
  for (let i = from; i < to; i++) {
    const byte = buffer[i] ?? 0;
    if ((byte & 0x0f) > 9 || byte >> 4 > 9) return false;
  }
  return true;
}

/**
 * Matches the bytes at `at` against a packet of the given width: digits, data type, mark, and the magic after its
 * length.
 */
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

/**
 * Returns true when the body matches data type and mark: the first packet of a video frame must begin with a start
 * code.
 */
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
 * Scores a match beyond its lengths. This is needed because an audio header with a 10-byte SIM is as long as a video
 * header with a 6-byte SIM, with the length field at the same position.
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

/** Selects the likelier width when both match; 6 bytes, the width of the standard, wins a tie. */
function chooseLikelier(buffer: Buffer, at: number): SimLengthDecision {
  const score6 = scoreMatch(buffer, at, 6);
  const score10 = scoreMatch(buffer, at, 10);
  return { simBytes: score10 > score6 ? 10 : 6, certainty: score6 === score10 ? 'even' : 'likely' };
}

/** Decision from the first packet: a width, `none` when neither matches, or the number of bytes to wait for. */
type SimLengthDecision =
  | { simBytes: SimBytes; certainty: 'certain' | 'likely' | 'incomplete' | 'even' }
  | { missingBytes: number }
  | 'none';

/**
 * Detects the SIM width from the first packet. With `isEnd` the end of the data counts like a following packet, as for
 * a datagram or a connection that is quiet or has ended.
 */
function detectSimLength(buffer: Buffer, at: number, end: number, isEnd: boolean): SimLengthDecision {
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
  // An incomplete match, such as a truncated datagram, is no evidence.
  const partialCertainty = ({ verdict }: PacketMatch): 'incomplete' | 'likely' =>
    verdict === 'incomplete' ? verdict : 'likely';
  if (match10.verdict === 'impossible') return { simBytes: 6, certainty: partialCertainty(match6) };
  if (match6.verdict === 'impossible') return { simBytes: 10, certainty: partialCertainty(match10) };
  return { missingBytes: Math.min(match6.missingBytes, match10.missingBytes) };
}

/** Number of consecutive likely decisions for one width that make it certain. */
const votesForCertainty = 4;

/**
 * Detects the SIM width of one connection or UDP peer. It is detected for each packet until it is certain, then
 * retained.
 */
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

  /** Returns the width of the packet at `at`, `none` when neither matches, or the number of bytes to wait for. */
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

  /** Resets a width that is not certain. */
  reset(): void {
    if (this.#isCertain) return;
    this.#simBytes = null;
    this.#votes = 0;
  }
}
