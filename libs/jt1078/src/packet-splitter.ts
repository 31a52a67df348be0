import { getPacketLength, isMagic, type MediaPacket, minPacketBytes, readPacket } from './packet.ts';
import { isBcd, matchPacket, SimLengthDetector } from './sim-length.ts';
import type { SimBytes } from './tables.ts';

/** Why a connection should be closed: never a valid packet, or too many bytes in a row that belong to none. */
export type GiveUpReason = 'noPacket' | 'tooMuchGarbage';

/** What a splitter has seen since its connection began. */
export interface SplitterCounters {
  packets: number;
  bytes: number;
  skippedBytes: number;
  resyncs: number;
}

/** Settings of a splitter; only `onPacket` is needed. */
export interface SplitterOptions {
  /** The packet and its body are valid only inside the callback. */
  onPacket: (packet: MediaPacket) => void;
  /** Set when known; detected from the first packets otherwise. */
  simBytes?: SimBytes | undefined;
  /** Garbage before the first packet after which to give up. */
  maxLeadingGarbageBytes?: number | undefined;
  /** Garbage in a row after which to give up. */
  maxGarbageBytes?: number | undefined;
}

const magicTail = Buffer.from([0x31, 0x63, 0x64]);
const emptyBuffer = Buffer.alloc(0);

/**
 * Splits the bytes of one TCP connection into packets by the length field (a body may contain the magic). Whole packets
 * are parsed in the chunk they came in; only one that is cut by a chunk's end is copied, so memory is bounded by it.
 */
export class PacketSplitter {
  readonly counters: SplitterCounters = { packets: 0, bytes: 0, skippedBytes: 0, resyncs: 0 };
  readonly #onPacket: (packet: MediaPacket) => void;
  readonly #maxLeadingGarbage: number;
  readonly #maxGarbage: number;
  readonly #simLength: SimLengthDetector;
  #giveUpReason: GiveUpReason | null = null;
  #isClosed = false;
  #isSearching = false;
  #garbageRun = 0;
  #carry: Buffer = emptyBuffer;
  #carryStart = 0;
  #carryEnd = 0;
  /** Bytes without which the carried ones say nothing new. */
  #neededBytes = minPacketBytes;
  readonly #simCopy = Buffer.alloc(10);
  #sim = '';

  constructor(options: SplitterOptions) {
    this.#onPacket = options.onPacket;
    this.#simLength = new SimLengthDetector(options.simBytes);
    this.#maxLeadingGarbage = options.maxLeadingGarbageBytes ?? 65_536;
    this.#maxGarbage = options.maxGarbageBytes ?? 1_048_576;
  }

  /** Width of the SIM field, null until it is known. */
  get simBytes(): SimBytes | null {
    return this.#simLength.simBytes;
  }

  /** Set when the connection should be closed; later bytes are ignored. */
  get giveUpReason(): GiveUpReason | null {
    return this.#giveUpReason;
  }

  /** Bytes kept for the next chunk. */
  get pendingBytes(): number {
    return this.#carryEnd - this.#carryStart;
  }

  /** Takes the next bytes of the connection. */
  push(chunk: Buffer): void {
    if (this.#isDone()) return;
    this.counters.bytes += chunk.length;
    let at = 0;
    while (this.#carryEnd > this.#carryStart) {
      const copiedBytes = Math.min(this.#neededBytes, chunk.length - at);
      this.#carryOver(chunk, at, at + copiedBytes);
      at += copiedBytes;
      this.#neededBytes -= copiedBytes;
      if (this.#neededBytes > 0) return;
      this.#carryStart = this.#parse(this.#carry, this.#carryStart, this.#carryEnd, false);
      if (this.#isDone()) return;
    }
    this.#carryStart = 0;
    this.#carryEnd = 0;
    if (at === chunk.length) return;
    const parsedTo = this.#parse(chunk, at, chunk.length, false);
    if (!this.#isDone() && parsedTo < chunk.length) this.#carryOver(chunk, parsedTo, chunk.length);
  }

  /** The connection has ended or fallen silent: whole packets that only waited for the next magic come out. */
  flush(): void {
    if (this.#isDone() || this.#carryEnd === this.#carryStart) return;
    this.#carryStart = this.#parse(this.#carry, this.#carryStart, this.#carryEnd, true);
  }

  /** No packet comes out any more; may be called inside the callback. */
  close(): void {
    this.#isClosed = true;
    this.#carry = emptyBuffer;
    this.#carryStart = 0;
    this.#carryEnd = 0;
  }

  #isDone(): boolean {
    return this.#isClosed || this.#giveUpReason !== null;
  }

  #carryOver(chunk: Buffer, from: number, to: number): void {
    const size = to - from;
    if (this.#carryEnd + size > this.#carry.length) {
      const held = this.#carryEnd - this.#carryStart;
      const source = this.#carry;
      // Twice the need, so that moving the rest to the front is rare.
      if (source.length < (held + size) * 2) this.#carry = Buffer.allocUnsafeSlow(Math.max(4096, (held + size) * 2));
      source.copy(this.#carry, 0, this.#carryStart, this.#carryEnd);
      this.#carryStart = 0;
      this.#carryEnd = held;
    }
    chunk.copy(this.#carry, this.#carryEnd, from, to);
    this.#carryEnd += size;
  }

  /** Emits every whole packet, gives the position of what is left, and sets how much is missing. */
  #parse(buffer: Buffer, from: number, end: number, isEnd: boolean): number {
    let at = from;
    while (!this.#isDone()) {
      if (end - at < minPacketBytes) {
        this.#neededBytes = minPacketBytes - (end - at);
        return at;
      }
      if (!this.#isSearching && !isMagic(buffer, at)) this.#resync();
      if (this.#isSearching) {
        at = this.#findNextPacket(buffer, at, end, isEnd);
        if (this.#isSearching) return at;
      }
      const simBytes = this.#simLength.detect(buffer, at, end, isEnd);
      if (simBytes === 'none') {
        this.#resync();
        continue;
      }
      if (typeof simBytes === 'object') {
        this.#neededBytes = simBytes.missingBytes;
        return at;
      }
      const length = getPacketLength(buffer, at, end, simBytes);
      // Garbage may begin with the magic: its length would swallow packets that follow it.
      if (length === 0 || !this.#isSimNumber(buffer, at + 8, Math.min(at + 8 + simBytes, end))) {
        this.#resync();
        continue;
      }
      const missing = length < 0 ? -length : at + length - end;
      if (missing > 0) {
        this.#neededBytes = missing;
        return at;
      }
      this.#emit(buffer, at, simBytes);
      at += length;
    }
    return end;
  }

  #isSimNumber(buffer: Buffer, from: number, to: number): boolean {
    const isLastSim =
      this.#sim.length === (to - from) * 2 && this.#simCopy.compare(buffer, from, to, 0, to - from) === 0;
    return isLastSim || isBcd(buffer, from, to);
  }

  #emit(buffer: Buffer, at: number, simBytes: SimBytes): void {
    this.counters.packets++;
    this.#garbageRun = 0;
    if (
      this.#sim.length !== simBytes * 2 ||
      this.#simCopy.compare(buffer, at + 8, at + 8 + simBytes, 0, simBytes) !== 0
    ) {
      buffer.copy(this.#simCopy, 0, at + 8, at + 8 + simBytes);
      this.#sim = buffer.toString('hex', at + 8, at + 8 + simBytes);
    }
    this.#onPacket(readPacket(buffer, at, simBytes, this.#sim));
  }

  #resync(): void {
    this.#isSearching = true;
    this.counters.resyncs++;
    this.#simLength.reset();
  }

  /** Looks for a magic that has another one where its packet ends; gives the position reached. */
  #findNextPacket(buffer: Buffer, from: number, end: number, isEnd: boolean): number {
    let at = from;
    while (this.#giveUpReason === null) {
      const magicAt = findMagic(buffer, at, end);
      const next = magicAt < 0 ? Math.max(at, end - 3) : magicAt;
      this.#skip(next - at);
      at = next;
      if (magicAt < 0) {
        this.#neededBytes = minPacketBytes - (end - at);
        return at;
      }
      const missing = this.#verify(buffer, at, end, isEnd);
      if (missing > 0) {
        this.#neededBytes = missing;
        return at;
      }
      if (!this.#isSearching) return at;
      this.#skip(1);
      at++;
    }
    return at;
  }

  /** Ends the search when a packet stands at `at`; gives the number of bytes missing to tell, 0 when it is clear. */
  #verify(buffer: Buffer, at: number, end: number, isEnd: boolean): number {
    let missing = 0;
    const knownSimBytes = this.#simLength.simBytes;
    for (const simBytes of knownSimBytes === null ? ([6, 10] as const) : [knownSimBytes]) {
      const match = matchPacket(buffer, at, end, simBytes);
      if (match.verdict === 'followed' || (isEnd && match.verdict === 'ends' && match.missingBytes === 4)) {
        this.#isSearching = false;
        return 0;
      }
      if (match.verdict !== 'impossible') {
        missing = missing === 0 ? match.missingBytes : Math.min(missing, match.missingBytes);
      }
    }
    return missing;
  }

  #skip(bytes: number): void {
    this.counters.skippedBytes += bytes;
    this.#garbageRun += bytes;
    if (this.counters.packets === 0 && this.#garbageRun > this.#maxLeadingGarbage) this.#giveUpReason = 'noPacket';
    else if (this.#garbageRun > this.#maxGarbage) this.#giveUpReason = 'tooMuchGarbage';
    if (this.#giveUpReason !== null) this.#carry = emptyBuffer;
  }
}

function findMagic(buffer: Buffer, from: number, end: number): number {
  for (let at = from; at + 4 <= end; ) {
    const tail = buffer.indexOf(magicTail, at + 1);
    if (tail < 0 || tail + 3 > end) return -1;
    if (isMagic(buffer, tail - 1)) return tail - 1;
    at = tail;
  }
  return -1;
}
