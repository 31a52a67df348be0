import { isMagic, type MediaPacket, MIN_PACKET_BYTES, packetLength, readPacket } from './packet.ts';
import { isBcd, readAs, SimWidth } from './sim-width.ts';
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

const MAGIC_TAIL = Buffer.from([0x31, 0x63, 0x64]);
const EMPTY = Buffer.alloc(0);

/**
 * Splits the bytes of one TCP connection into packets by the length field (a body may contain the magic). Whole packets
 * are parsed in the chunk they came in; only one that is cut by a chunk's end is copied, so memory is bounded by it.
 */
export class PacketSplitter {
  readonly counters: SplitterCounters = { packets: 0, bytes: 0, skippedBytes: 0, resyncs: 0 };
  readonly #onPacket: (packet: MediaPacket) => void;
  readonly #maxLeadingGarbage: number;
  readonly #maxGarbage: number;
  readonly #width: SimWidth;
  #giveUp: GiveUpReason | null = null;
  #isClosed = false;
  #isSearching = false;
  #garbageRun = 0;
  #carry: Buffer = EMPTY;
  #from = 0;
  #to = 0;
  /** Bytes without which the carried ones say nothing new. */
  #missing = MIN_PACKET_BYTES;
  readonly #simCopy = Buffer.alloc(10);
  #sim = '';

  constructor(options: SplitterOptions) {
    this.#onPacket = options.onPacket;
    this.#width = new SimWidth(options.simBytes);
    this.#maxLeadingGarbage = options.maxLeadingGarbageBytes ?? 65_536;
    this.#maxGarbage = options.maxGarbageBytes ?? 1_048_576;
  }

  /** Width of the SIM field, null until it is known. */
  get simBytes(): SimBytes | null {
    return this.#width.simBytes;
  }

  /** Set when the connection should be closed; later bytes are ignored. */
  get giveUp(): GiveUpReason | null {
    return this.#giveUp;
  }

  /** Bytes kept for the next chunk. */
  get pendingBytes(): number {
    return this.#to - this.#from;
  }

  /** Takes the next bytes of the connection. */
  push(chunk: Buffer): void {
    if (this.#isDone()) return;
    this.counters.bytes += chunk.length;
    let at = 0;
    while (this.#to > this.#from) {
      const taken = Math.min(this.#missing, chunk.length - at);
      this.#keep(chunk, at, at + taken);
      at += taken;
      this.#missing -= taken;
      if (this.#missing > 0) return;
      this.#from = this.#parse(this.#carry, this.#from, this.#to, false);
      if (this.#isDone()) return;
    }
    this.#from = 0;
    this.#to = 0;
    if (at === chunk.length) return;
    const rest = this.#parse(chunk, at, chunk.length, false);
    if (!this.#isDone() && rest < chunk.length) this.#keep(chunk, rest, chunk.length);
  }

  /** The connection has ended or fallen silent: whole packets that only waited for the next magic come out. */
  settle(): void {
    if (this.#isDone() || this.#to === this.#from) return;
    this.#from = this.#parse(this.#carry, this.#from, this.#to, true);
  }

  /** No packet comes out any more; may be called inside the callback. */
  close(): void {
    this.#isClosed = true;
    this.#carry = EMPTY;
    this.#from = 0;
    this.#to = 0;
  }

  #isDone(): boolean {
    return this.#isClosed || this.#giveUp !== null;
  }

  #keep(chunk: Buffer, from: number, to: number): void {
    const size = to - from;
    if (this.#to + size > this.#carry.length) {
      const held = this.#to - this.#from;
      const source = this.#carry;
      // Twice the need, so that moving the rest to the front is rare.
      if (source.length < (held + size) * 2) this.#carry = Buffer.allocUnsafeSlow(Math.max(4096, (held + size) * 2));
      source.copy(this.#carry, 0, this.#from, this.#to);
      this.#from = 0;
      this.#to = held;
    }
    chunk.copy(this.#carry, this.#to, from, to);
    this.#to += size;
  }

  /** Emits every whole packet, gives the position of what is left, and sets how much is missing. */
  #parse(buffer: Buffer, from: number, end: number, noMore: boolean): number {
    let at = from;
    while (!this.#isDone()) {
      if (end - at < MIN_PACKET_BYTES) {
        this.#missing = MIN_PACKET_BYTES - (end - at);
        return at;
      }
      if (!this.#isSearching && !isMagic(buffer, at)) this.#loseSync();
      if (this.#isSearching) {
        at = this.#search(buffer, at, end, noMore);
        if (this.#isSearching) return at;
      }
      const simBytes = this.#width.at(buffer, at, end, noMore);
      if (simBytes === 'none') {
        this.#loseSync();
        continue;
      }
      if (typeof simBytes === 'object') {
        this.#missing = simBytes.missingBytes;
        return at;
      }
      const length = packetLength(buffer, at, end, simBytes);
      // Garbage may begin with the magic: its length would swallow packets that follow it.
      if (length === 0 || !this.#isTerminalNumber(buffer, at + 8, Math.min(at + 8 + simBytes, end))) {
        this.#loseSync();
        continue;
      }
      const missing = length < 0 ? -length : at + length - end;
      if (missing > 0) {
        this.#missing = missing;
        return at;
      }
      this.#emit(buffer, at, simBytes);
      at += length;
    }
    return end;
  }

  #isTerminalNumber(buffer: Buffer, from: number, to: number): boolean {
    const isTheLast =
      this.#sim.length === (to - from) * 2 && this.#simCopy.compare(buffer, from, to, 0, to - from) === 0;
    return isTheLast || isBcd(buffer, from, to);
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

  #loseSync(): void {
    this.#isSearching = true;
    this.counters.resyncs++;
    this.#width.loseSync();
  }

  /** Looks for a magic that has another one where its packet ends; gives the position reached. */
  #search(buffer: Buffer, from: number, end: number, noMore: boolean): number {
    let at = from;
    while (this.#giveUp === null) {
      const found = findMagic(buffer, at, end);
      const next = found < 0 ? Math.max(at, end - 3) : found;
      this.#skip(next - at);
      at = next;
      if (found < 0) {
        this.#missing = MIN_PACKET_BYTES - (end - at);
        return at;
      }
      const missing = this.#verify(buffer, at, end, noMore);
      if (missing > 0) {
        this.#missing = missing;
        return at;
      }
      if (!this.#isSearching) return at;
      this.#skip(1);
      at++;
    }
    return at;
  }

  /** Ends the search when a packet stands at `at`; gives the number of bytes missing to tell, 0 when it is clear. */
  #verify(buffer: Buffer, at: number, end: number, noMore: boolean): number {
    let missing = 0;
    const known = this.#width.simBytes;
    for (const simBytes of known === null ? ([6, 10] as const) : [known]) {
      const reading = readAs(buffer, at, end, simBytes);
      if (reading.verdict === 'followed' || (noMore && reading.verdict === 'ends' && reading.missingBytes === 4)) {
        this.#isSearching = false;
        return 0;
      }
      if (reading.verdict !== 'impossible') {
        missing = missing === 0 ? reading.missingBytes : Math.min(missing, reading.missingBytes);
      }
    }
    return missing;
  }

  #skip(bytes: number): void {
    this.counters.skippedBytes += bytes;
    this.#garbageRun += bytes;
    if (this.counters.packets === 0 && this.#garbageRun > this.#maxLeadingGarbage) this.#giveUp = 'noPacket';
    else if (this.#garbageRun > this.#maxGarbage) this.#giveUp = 'tooMuchGarbage';
    if (this.#giveUp !== null) this.#carry = EMPTY;
  }
}

function findMagic(buffer: Buffer, from: number, end: number): number {
  for (let at = from; at + 4 <= end; ) {
    const tail = buffer.indexOf(MAGIC_TAIL, at + 1);
    if (tail < 0 || tail + 3 > end) return -1;
    if (isMagic(buffer, tail - 1)) return tail - 1;
    at = tail;
  }
  return -1;
}
