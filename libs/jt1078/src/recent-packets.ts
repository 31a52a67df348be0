import type { MediaPacket } from './packet.ts';

/** Distance in packets beyond which an equal packet is no repetition, because the counter was restarted. */
const windowSize = 64;

/**
 * Detects repeated packets of one channel and kind by sequence, header and a sample of the body. The sequence alone is
 * not sufficient, as terminals restart it and some count frames.
 */
export class RecentPackets {
  readonly #sequences = new Int32Array(windowSize).fill(-1);
  readonly #digests = new Int32Array(windowSize);
  readonly #positions = new Float64Array(windowSize);
  #position = 0;

  /** Returns true for a repeated packet, and records any other. */
  isRepeated(packet: MediaPacket): boolean {
    const { sequence } = packet;
    const slot = sequence % windowSize;
    const digest = packetDigest(packet);
    const isKnown = this.#sequences[slot] === sequence && this.#digests[slot] === digest;
    if (isKnown && this.#position - (this.#positions[slot] ?? 0) <= windowSize) return true;
    this.#sequences[slot] = sequence;
    this.#digests[slot] = digest;
    this.#positions[slot] = this.#position;
    this.#position += 1;
    return false;
  }
}

const mixDigest = (digest: number, value: number): number => Math.imul(digest ^ value, 0x01000193);

/**
 * Hashes header fields and eight bytes of each end of the body. That is sufficient, as compressed media differ at both
 * ends.
 */
function packetDigest({ body, timestampHigh, timestampLow, payloadType, dataType, subpackage }: MediaPacket): number {
  let digest = mixDigest(mixDigest(0x811c9dc5, timestampHigh), timestampLow);
  digest = mixDigest(digest, (payloadType << 8) | (dataType << 4) | subpackage);
  digest = mixDigest(digest, body.length);
  if (body.length < 16) {
    for (const byte of body) digest = mixDigest(digest, byte);
    return digest | 0;
  }
  for (const at of [0, 4, body.length - 8, body.length - 4]) digest = mixDigest(digest, body.readInt32BE(at));
  return digest | 0;
}
