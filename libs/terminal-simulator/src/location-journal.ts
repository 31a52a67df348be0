import { createHash } from 'node:crypto';

/** One location report of a terminal from birth to acknowledgement. */
export interface ReportRecord {
  /** Counts up for each terminal; also stands in the report as vendor item 0xE1, so that no two bodies are alike. */
  id: number;
  /** Device time, on the camera's clock. */
  time: string;
  body: Buffer;
  sha256: string;
  /** Alarm bits the report carries. */
  alarm: number;
  /** Times it was sent, alone (0x0200) or in a batch (0x0704). */
  sends: { atMs: number; messageId: 0x0200 | 0x0704 }[];
  /** When 0x8001 with result 0 came; null while the terminal must keep it. */
  acknowledgedAtMs: number | null;
}

/** Most bytes of one 0x0704 body, so that a batch is one frame. */
const maxBatchBytes = 1000;

/** 0x0704 body of whole reports, byte for byte as they were built (JT/T 808-2013 table 76). */
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

/** Reports in batches of one frame each: then one acknowledgement stands for all of a batch. */
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

/** A terminal's memory of reports: what was not acknowledged is kept and sent again. */
export class LocationJournal {
  /** Every report, oldest first, up to the limit; unacknowledged ones are the last to be forgotten. */
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

  /** Adds a report that was just built. */
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

  /** Reports that wait for an acknowledgement. */
  get unacknowledged(): ReportRecord[] {
    return this.reports.filter((report) => report.acknowledgedAtMs === null);
  }

  /** Notes that reports went out under a serial. */
  recordSent(serial: number, messageId: 0x0200 | 0x0704, reports: readonly ReportRecord[]): void {
    for (const report of reports) report.sends.push({ atMs: Date.now(), messageId });
    this.#sentBySerial.set(serial, [...reports]);
  }

  /** Takes 0x8001; gives the reports that it acknowledged. */
  acknowledge(serial: number, result: number): ReportRecord[] {
    const reports = this.#sentBySerial.get(serial) ?? [];
    this.#sentBySerial.delete(serial);
    if (result !== 0 && result !== 4) return [];
    const nowMs = Date.now();
    for (const report of reports) report.acknowledgedAtMs ??= nowMs;
    return reports;
  }

  /** The connection is gone: no acknowledgement of what went over it can come any more. */
  onConnectionLost(): void {
    this.#sentBySerial.clear();
  }

  /** What has waited for an acknowledgement since `beforeMs` or was never sent. */
  findOverdue(beforeMs: number): ReportRecord[] {
    return this.unacknowledged.filter((report) => (report.sends.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) <= beforeMs);
  }

  #evictOldest(): void {
    const oldestAcknowledged = this.reports.findIndex((report) => report.acknowledgedAtMs !== null);
    this.reports.splice(Math.max(0, oldestAcknowledged), 1);
  }
}
