import { getPacketLength, isMagic, type MediaPacket, minPacketBytes, readPacket } from './packet.ts';
import { SimLengthDetector } from './sim-length.ts';
import type { SimBytes } from './tables.ts';

/** Counters of a datagram reader. */
interface DatagramCounters {
  datagrams: number;
  packets: number;
  /** Datagrams that were not completely made up of whole packets. */
  droppedDatagrams: number;
}

/** Options of a datagram reader. */
interface DatagramReaderOptions {
  /** Called for each packet, whose body is a view of the datagram. */
  onPacket: (packet: MediaPacket) => void;
  simBytes?: SimBytes | undefined;
}

/**
 * Reads the packets of one UDP peer: usually one per datagram, but several are supported. Truncated ones are dropped.
 */
export class DatagramReader {
  readonly counters: DatagramCounters = { datagrams: 0, packets: 0, droppedDatagrams: 0 };
  readonly #onPacket: (packet: MediaPacket) => void;
  readonly #simLength: SimLengthDetector;

  constructor(options: DatagramReaderOptions) {
    this.#onPacket = options.onPacket;
    this.#simLength = new SimLengthDetector(options.simBytes);
  }

  /** Width of the SIM field; null until it is known. */
  get simBytes(): SimBytes | null {
    return this.#simLength.simBytes;
  }

  /** Reads one datagram. */
  push(datagram: Buffer): void {
    this.counters.datagrams++;
    const end = datagram.length;
    let at = 0;
    while (at < end) {
      if (end - at < minPacketBytes || !isMagic(datagram, at)) break;
      // A truncated datagram matches neither width up to its end, and must not determine one.
      const simBytes = this.#simLength.detect(datagram, at, end, true);
      if (typeof simBytes !== 'number') break;
      const length = getPacketLength(datagram, at, end, simBytes);
      if (length <= 0 || at + length > end) break;
      this.counters.packets++;
      this.#onPacket(readPacket(datagram, at, simBytes));
      at += length;
    }
    if (at < end || end === 0) this.counters.droppedDatagrams++;
  }
}
