import { getPacketLength, isMagic, type MediaPacket, minPacketBytes, readPacket } from './packet.ts';
import { isBcd, matchPacket, SimLengthDetector } from './sim-length.ts';
import type { SimBytes } from './tables.ts';

/** Reason to close a connection: no valid packet at the beginning, or too much consecutive garbage. */
type GiveUpReason = 'noPacket' | 'tooMuchGarbage';

/** Counters of a splitter since the beginning of its connection. */
interface SplitterCounters {
  packets: number;
  bytes: number;
  skippedBytes: number;
  resyncs: number;
}

/** Options of a splitter. Only `onPacket` is required. */
interface SplitterOptions {
  /** Called for each packet. The packet and its body are valid only inside the callback. */
  onPacket: (packet: MediaPacket) => void;
  /** SIM width if known; otherwise it is detected from the first packets. */
  simBytes?: SimBytes | undefined;
  /** Limit of garbage before the first packet. */
  maxLeadingGarbageBytes?: number | undefined;
  /** Limit of consecutive garbage. */
  maxGarbageBytes?: number | undefined;
}

const magicTail = Buffer.from([0x31, 0x63, 0x64]);
const emptyBuffer = Buffer.alloc(0);

/**
 * Splits the bytes of one TCP connection into packets by the length field, as a body may contain the magic. Whole
 * packets are parsed within their chunk. Only a packet that crosses the end of a chunk is copied, which bounds the
 * memory.
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
  /** Number of further bytes without which the carried-over ones cannot be parsed. */
  #neededBytes = minPacketBytes;
  readonly #simCopy = Buffer.alloc(10);
  #sim = '';

  constructor(options: SplitterOptions) {
    this.#onPacket = options.onPacket;
    this.#simLength = new SimLengthDetector(options.simBytes);
    this.#maxLeadingGarbage = options.maxLeadingGarbageBytes ?? 65_536;
    this.#maxGarbage = options.maxGarbageBytes ?? 1_048_576;
  }

  /** Width of the SIM field; null until it is known. */
  get simBytes(): SimBytes | null {
    return this.#simLength.simBytes;
  }

  /** Set when the connection should be closed; further bytes are ignored. */
  get giveUpReason(): GiveUpReason | null {
    return this.#giveUpReason;
  }

  /** Number of bytes carried over to the next chunk. */
  get pendingBytes(): number {
    return this.#carryEnd - this.#carryStart;
  }

  /** Parses the next bytes of the connection. */
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

  /** Emits complete packets that waited only for the next magic. Call it when the connection is quiet or has ended. */
  flush(): void {
    if (this.#isDone() || this.#carryEnd === this.#carryStart) return;
    this.#carryStart = this.#parse(this.#carry, this.#carryStart, this.#carryEnd, true);
  }

  /** Stops emitting packets; may be called inside the callback. */
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
      // Twice the needed size, so that moving the rest to the front is rare.
      if (source.length < (held + size) * 2) this.#carry = Buffer.allocUnsafeSlow(Math.max(4096, (held + size) * 2));
      source.copy(this.#carry, 0, this.#carryStart, this.#carryEnd);
      this.#carryStart = 0;
      this.#carryEnd = held;
    }
    chunk.copy(this.#carry, this.#carryEnd, from, to);
    this.#carryEnd += size;
  }

  /** Emits every complete packet, returns the position of the rest, and sets the number of missing bytes. */
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
      // Garbage may begin with the magic, and its length would swallow the following packets.
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

  /** Searches for a magic whose packet is followed by another magic. Returns the position reached. */
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

  /** Ends the search when `at` is the start of a packet. Returns the number of bytes missing for a decision, or 0. */
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
