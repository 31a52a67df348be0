import { getPacketLength, isMagic, type MediaPacket, minPacketBytes, readPacket } from './packet.ts';
import { SimLengthDetector } from './sim-length.ts';
import type { SimBytes } from './tables.ts';

/** What a datagram reader has seen. */
export interface DatagramCounters {
  datagrams: number;
  packets: number;
  /** Datagrams of which a part (or all) was no whole packet. */
  droppedDatagrams: number;
}

/** Settings of a datagram reader. */
export interface DatagramReaderOptions {
  /** The body shares the datagram's bytes. */
  onPacket: (packet: MediaPacket) => void;
  simBytes?: SimBytes | undefined;
}

/** Packets of one UDP peer: usually one a datagram; several in one are read too, truncated ones are dropped. */
export class DatagramReader {
  readonly counters: DatagramCounters = { datagrams: 0, packets: 0, droppedDatagrams: 0 };
  readonly #onPacket: (packet: MediaPacket) => void;
  readonly #simLength: SimLengthDetector;

  constructor(options: DatagramReaderOptions) {
    this.#onPacket = options.onPacket;
    this.#simLength = new SimLengthDetector(options.simBytes);
  }

  /** Width of the SIM field, null until it is known. */
  get simBytes(): SimBytes | null {
    return this.#simLength.simBytes;
  }

  /** Takes one datagram. */
  push(datagram: Buffer): void {
    this.counters.datagrams++;
    const end = datagram.length;
    let at = 0;
    while (at < end) {
      if (end - at < minPacketBytes || !isMagic(datagram, at)) break;
      // A truncated datagram fits neither width to its end; it must not fix one.
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
