import type { MediaPacket } from './packet.ts';

/** Counters of a reorder window. */
interface ReorderCounters {
  packets: number;
  lost: number;
  duplicates: number;
  late: number;
  restarts: number;
}

/** Options of a reorder window. */
interface ReorderOptions {
  onPacket: (packet: MediaPacket) => void;
  /** Maximum number of packets delayed by a gap; a power of two up to 1024. */
  size?: number | undefined;
  /** Maximum time for which a gap delays packets. */
  maxDelayMs?: number | undefined;
}

interface WaitingPacket {
  packet: MediaPacket;
  arrivedMs: number;
}

/** Number of consecutive late packets that indicate a restarted counter. */
const restartRunLength = 16;
/** Distance from which a packet is not considered late. */
const maxSequenceDistance = 1024;

/**
 * Sorts the packets of one UDP peer by sequence (modulo 65536) and drops duplicates. Treats a gap as a loss after
 * `size` packets or `maxDelayMs`. Packets must own their bytes or be views of the datagram.
 */
export class ReorderWindow {
  readonly counters: ReorderCounters = { packets: 0, lost: 0, duplicates: 0, late: 0, restarts: 0 };
  readonly #onPacket: (packet: MediaPacket) => void;
  readonly #maxDelayMs: number;
  readonly #slots: (WaitingPacket | undefined)[];
  /** Last sequence emitted from each slot, which distinguishes a duplicate from a late packet. */
  readonly #emitted: number[];
  #next = -1;
  #hasEmitted = false;
  #waiting = 0;
  #lateRun = 0;
  #lastLate = -1;
  #deadlineMs: number | null = null;

  constructor(options: ReorderOptions) {
    const size = options.size ?? 64;
    if (size < 2 || size > maxSequenceDistance || (size & (size - 1)) !== 0)
      throw new RangeError('size must be a power of two, 2 to 1024');
    this.#onPacket = options.onPacket;
    this.#maxDelayMs = options.maxDelayMs ?? 150;
    this.#slots = Array.from({ length: size }, () => undefined);
    this.#emitted = Array.from({ length: size }, () => -1);
  }

  /** Time at which `expire` is due; null while no packet waits. */
  get deadlineMs(): number | null {
    return this.#deadlineMs;
  }

  /** Adds a packet. Emits it and the packets that waited for it through the callback. */
  push(packet: MediaPacket, nowMs: number): void {
    this.counters.packets++;
    const { sequence } = packet;
    // A terminal counts from 0, so leave room for first packets that were overtaken.
    if (this.#next < 0) this.#next = sequence < this.#slots.length ? 0 : sequence;
    const ahead = ((sequence - this.#next) << 16) >> 16;
    if (ahead >= maxSequenceDistance || ahead < -maxSequenceDistance) return this.#restart(packet);
    if (ahead < 0) return this.#pushLate(packet);
    this.#lateRun = 0;
    if (ahead === 0) {
      this.#emit(packet);
      this.#drain();
    } else {
      while (((sequence - this.#next) & 0xffff) >= this.#slots.length) this.#skipOne();
      this.#drain();
      this.#store(packet, nowMs);
    }
    this.#setDeadline();
  }

  /** Treats gaps that have reached the time limit as losses. */
  expire(nowMs: number): void {
    while (this.#deadlineMs !== null && nowMs >= this.#deadlineMs) {
      this.#skipToWaiting();
      this.#setDeadline();
    }
  }

  /** Handles the end of the peer: emits all waiting packets. */
  flush(): void {
    while (this.#waiting > 0) this.#skipToWaiting();
    this.#deadlineMs = null;
  }

  #slot(sequence: number): number {
    return sequence & (this.#slots.length - 1);
  }

  #store(packet: MediaPacket, nowMs: number): void {
    const slot = this.#slot(packet.sequence);
    if (packet.sequence === this.#next) {
      this.#emit(packet);
      this.#drain();
    } else if (this.#slots[slot]) {
      this.counters.duplicates++;
    } else {
      this.#slots[slot] = { packet, arrivedMs: nowMs };
      this.#waiting++;
    }
  }

  #pushLate(packet: MediaPacket): void {
    if (this.#emitted[this.#slot(packet.sequence)] === packet.sequence) {
      this.counters.duplicates++;
      return;
    }
    const isConsecutive = this.#lateRun > 0 && packet.sequence === ((this.#lastLate + 1) & 0xffff);
    this.#lateRun = isConsecutive ? this.#lateRun + 1 : 1;
    this.#lastLate = packet.sequence;
    if (this.#lateRun >= restartRunLength) return this.#restart(packet);
    this.counters.late++;
  }

  #restart(packet: MediaPacket): void {
    this.flush();
    this.counters.restarts++;
    this.#lateRun = 0;
    this.#next = packet.sequence;
    this.#emit(packet);
  }

  #emit(packet: MediaPacket): void {
    this.#next = (packet.sequence + 1) & 0xffff;
    this.#emitted[this.#slot(packet.sequence)] = packet.sequence;
    this.#hasEmitted = true;
    this.#onPacket(packet);
  }

  #drain(): void {
    for (;;) {
      const slot = this.#slot(this.#next);
      const waiting = this.#slots[slot];
      if (!waiting) return;
      this.#slots[slot] = undefined;
      this.#waiting--;
      this.#emit(waiting.packet);
    }
  }

  #skipOne(): void {
    const slot = this.#slot(this.#next);
    const waiting = this.#slots[slot];
    if (waiting) {
      this.#slots[slot] = undefined;
      this.#waiting--;
      this.#emit(waiting.packet);
      return;
    }
    if (this.#hasEmitted) this.counters.lost++;
    this.#next = (this.#next + 1) & 0xffff;
  }

  #skipToWaiting(): void {
    while (this.#waiting > 0 && !this.#slots[this.#slot(this.#next)]) this.#skipOne();
    this.#drain();
  }

  #setDeadline(): void {
    if (this.#waiting === 0) {
      this.#deadlineMs = null;
      return;
    }
    let oldest = Number.POSITIVE_INFINITY;
    for (const waiting of this.#slots) if (waiting && waiting.arrivedMs < oldest) oldest = waiting.arrivedMs;
    this.#deadlineMs = oldest + this.#maxDelayMs;
  }
}
