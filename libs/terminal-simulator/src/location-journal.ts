import { createHash } from 'node:crypto';

/** One location report of a terminal, from creation to acknowledgement. */
export interface ReportRecord {
  /** Counter per terminal. The report also contains it as vendor item 0xE1, so that all bodies differ. */
  id: number;
  /** Device time, on the camera's clock. */
  time: string;
  body: Buffer;
  sha256: string;
  /** Alarm bits of the report. */
  alarm: number;
  /** Transmissions, alone (0x0200) or in a batch (0x0704). */
  sends: { atMs: number; messageId: 0x0200 | 0x0704 }[];
  /** Time of the 0x8001 with result 0; null while the terminal must retain the report. */
  acknowledgedAtMs: number | null;
}

/** Maximum size of a 0x0704 body, so that a batch fits in one frame. */
const maxBatchBytes = 1000;

/** Encodes a 0x0704 body of whole reports, byte for byte as they were created (JT/T 808-2013 table 76). */
export function encodeBatchBody(reports: readonly ReportRecord[], locationType: 0 | 1): Buffer {
  const header = Buffer.alloc(3);
  header.writeUInt16BE(reports.length, 0);
  header.writeUInt8(locationType, 2);
  const items = reports.flatMap(({ body }) => {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(body.length, 0);
    return [length, body];
  });
  return Buffer.concat([header, ...items]);
}

/** Splits reports into batches of one frame each, so that one acknowledgement covers a whole batch. */
export function splitIntoBatches(reports: readonly ReportRecord[]): ReportRecord[][] {
  const batches: ReportRecord[][] = [];
  let bytes = maxBatchBytes;
  for (const report of reports) {
    if (bytes + report.body.length + 2 > maxBatchBytes) {
      batches.push([]);
      bytes = 3;
    }
    batches.at(-1)?.push(report);
    bytes += report.body.length + 2;
  }
  return batches;
}

/** Holds the reports of a terminal. Unacknowledged reports are retained and sent again. */
export class LocationJournal {
  /** All reports, oldest first, up to the limit; unacknowledged ones are evicted last. */
  readonly reports: ReportRecord[] = [];
  readonly #limit: number;
  readonly #sentBySerial = new Map<number, ReportRecord[]>();
  #nextId = 1;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of the next report. */
  get nextId(): number {
    return this.#nextId;
  }

  /** Adds a new report. */
  add(report: { time: string; body: Buffer; alarm: number }): ReportRecord {
    const record: ReportRecord = {
      ...report,
      id: this.#nextId,
      sha256: createHash('sha256').update(report.body).digest('hex'),
      sends: [],
      acknowledgedAtMs: null,
    };
    this.#nextId += 1;
    if (this.reports.length >= this.#limit) this.#evictOldest();
    this.reports.push(record);
    return record;
  }

  /** Reports without an acknowledgement. */
  get unacknowledged(): ReportRecord[] {
    return this.reports.filter((report) => report.acknowledgedAtMs === null);
  }

  /** Records that reports were sent under a serial. */
  recordSent(serial: number, messageId: 0x0200 | 0x0704, reports: readonly ReportRecord[]): void {
    for (const report of reports) report.sends.push({ atMs: Date.now(), messageId });
    this.#sentBySerial.set(serial, [...reports]);
  }

  /** Processes 0x8001; returns the reports that it acknowledged. */
  acknowledge(serial: number, result: number): ReportRecord[] {
    const reports = this.#sentBySerial.get(serial) ?? [];
    this.#sentBySerial.delete(serial);
    if (result !== 0 && result !== 4) return [];
    const nowMs = Date.now();
    for (const report of reports) report.acknowledgedAtMs ??= nowMs;
    return reports;
  }

  /** Discards the serials of a lost connection, whose acknowledgements cannot arrive any more. */
  onConnectionLost(): void {
    this.#sentBySerial.clear();
  }

  /** Returns the reports that were last sent before `beforeMs`, or never, and have no acknowledgement. */
  findOverdue(beforeMs: number): ReportRecord[] {
    return this.unacknowledged.filter((report) => (report.sends.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) <= beforeMs);
  }

  #evictOldest(): void {
    const oldestAcknowledged = this.reports.findIndex((report) => report.acknowledgedAtMs !== null);
    this.reports.splice(Math.max(0, oldestAcknowledged), 1);
  }
}
