/**
 * Edition of a terminal as one byte of a batch; `partner` for reports of a partner's server (`partner-telemetry.ts`).
 */
const editions = ['2011', '2013', '2019', 'partner'] as const;

/** A report as a terminal sent it, with a raw body; a partner's body is JSON. */
export interface TelemetryReport {
  readonly edition: (typeof editions)[number];
  /** Digits of the terminal number, 12 or 20, as in the frame. */
  readonly phone: string;
  /** 0x0200 or 0x0704. */
  readonly messageId: number;
  readonly serialNo: number;
  readonly receivedAtMs: number;
  readonly body: Buffer;
}

const formatVersion = 1;
/** length 4, edition 1, phone bytes 1, phone 10, message id 2, serial 2, received 6 */
const entryHeaderBytes = 26;

/** Largest batch, well below the broker's message limit of 1 MiB. */
export const maxBatchBytes = 256 * 1024;

/**
 * Collects raw reports into one payload of `telemetry.<partition>`, without an allocation for each report. Format: a
 * version byte, then entries of a 26-byte header and the body. The header holds the length of the rest (UINT32),
 * edition, phone byte count, and phone BCD right-aligned in 10. Then it holds message id, serial and receive time
 * (UINT48, ms).
 */
export class TelemetryBatch {
  #buffer = Buffer.allocUnsafe(16 * 1024);
  #used = 1;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  /** Size so far. */
  get size(): number {
    return this.#used;
  }

  /** Appends a report. `phoneBcd` is the header's terminal number field: 6 or 10 bytes. */
  append(
    editionIndex: 0 | 1 | 2 | 3,
    phoneBcd: Uint8Array,
    messageId: number,
    serialNo: number,
    receivedAtMs: number,
    body: Uint8Array,
  ): void {
    const size = entryHeaderBytes + body.length;
    if (this.#used + size > this.#buffer.length) this.#grow(this.#used + size);
    const buffer = this.#buffer;
    let offset = this.#used;
    buffer.writeUInt32BE(size - 4, offset);
    buffer[offset + 4] = editionIndex;
    buffer[offset + 5] = phoneBcd.length;
    buffer.fill(0, offset + 6, offset + 16 - phoneBcd.length);
    buffer.set(phoneBcd, offset + 16 - phoneBcd.length);
    buffer.writeUInt16BE(messageId, offset + 16);
    buffer.writeUInt16BE(serialNo, offset + 18);
    buffer.writeUIntBE(receivedAtMs, offset + 20, 6);
    offset += entryHeaderBytes;
    buffer.set(body, offset);
    this.#used = offset + body.length;
    this.#count += 1;
  }

  /** Returns the payload and starts a new batch with its own buffer, so that the payload stays valid. */
  take(): Buffer {
    const payload = this.#buffer.subarray(0, this.#used);
    payload[0] = formatVersion;
    this.#buffer = Buffer.allocUnsafe(Math.max(16 * 1024, Math.min(maxBatchBytes, this.#used * 2)));
    this.#used = 1;
    this.#count = 0;
    return payload;
  }

  #grow(minBytes: number): void {
    const grown = Buffer.allocUnsafe(Math.max(minBytes, this.#buffer.length * 2));
    this.#buffer.copy(grown, 0, 0, this.#used);
    this.#buffer = grown;
  }
}

/** Yields the reports of a batch; throws a RangeError for invalid bytes. */
export function* readTelemetryBatch(payload: Uint8Array): Generator<TelemetryReport> {
  const buffer = Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
  if (buffer[0] !== formatVersion) throw new RangeError(`telemetry batch of unknown version ${String(buffer[0])}`);
  let offset = 1;
  while (offset < buffer.length) {
    if (buffer.length - offset < entryHeaderBytes) throw new RangeError('telemetry batch is truncated');
    const size = buffer.readUInt32BE(offset);
    const phoneBytes = buffer.readUInt8(offset + 5);
    const edition = editions[buffer.readUInt8(offset + 4)];
    const end = offset + 4 + size;
    if (
      end > buffer.length ||
      size < entryHeaderBytes - 4 ||
      (phoneBytes !== 6 && phoneBytes !== 10) ||
      edition === undefined
    )
      throw new RangeError('telemetry batch is truncated or corrupt');
    yield {
      edition,
      phone: buffer.toString('hex', offset + 16 - phoneBytes, offset + 16),
      messageId: buffer.readUInt16BE(offset + 16),
      serialNo: buffer.readUInt16BE(offset + 18),
      receivedAtMs: buffer.readUIntBE(offset + 20, 6),
      body: buffer.subarray(offset + entryHeaderBytes, end),
    };
    offset = end;
  }
}

/** Returns the partition of a terminal: FNV-1a of the canonical number, so that one vehicle's reports stay in order. */
export function telemetryPartition(imei: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < imei.length; i++) hash = Math.imul(hash ^ imei.charCodeAt(i), 0x01000193);
  return (hash >>> 0) % partitions;
}

/** Returns the subject of a partition's batches. */
export const telemetrySubject = (partition: number): string => `telemetry.${partition}`;

/**
 * Returns the subject of other uplink messages. The payload is the raw reassembled body; the headers are
 * `eventHeaders`.
 */
export const eventSubject = (imei: string, messageId: number): string =>
  `event.${imei}.${messageId.toString(16).padStart(4, '0')}`;

/** Header names of an event. */
export const eventHeaders = {
  phone: 'Phone',
  edition: 'Edition',
  messageId: 'Message-Id',
  serialNo: 'Serial-No',
  receivedAtMs: 'Received-At-Ms',
} as const;
