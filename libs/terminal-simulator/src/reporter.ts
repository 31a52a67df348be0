import type { Extra } from '@fleet/jt808';
import { batchBody, batchesOf, LocationJournal, type ReportRecord } from './location-journal.ts';
import type { OutgoingFrame } from './outbox.ts';
import type { ResolvedOptions, TerminalMessage } from './terminal-options.ts';
import type { Vehicle } from './vehicle.ts';

/** What a reporter needs of its terminal. */
export interface ReporterPort {
  isOnline(): boolean;
  transmit(message: TerminalMessage): readonly OutgoingFrame[];
}

/** Location types of 0x0704. */
const NORMAL_BATCH = 0;
const BLIND_AREA = 1;

/** Makes location reports at intervals, and sends each until it is acknowledged. */
export class Reporter {
  readonly journal: LocationJournal;
  readonly #vehicle: Vehicle;
  readonly #port: ReporterPort;
  readonly #options: ResolvedOptions;
  #timer: NodeJS.Timeout | null = null;
  #intervalMs: number;
  #closeIntervalMs = 0;
  #closeUntilMs = 0;

  constructor(options: ResolvedOptions, vehicle: Vehicle, port: ReporterPort) {
    this.#options = options;
    this.#vehicle = vehicle;
    this.#port = port;
    this.#intervalMs = options.reportIntervalMs;
    this.journal = new LocationJournal(options.logLimit);
  }

  /** Reports at intervals from now on; the first at once, if online. */
  start(): void {
    this.#schedule();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Another interval (parameter 0x0029); 0 switches reports off. */
  setInterval(intervalMs: number): void {
    this.#intervalMs = intervalMs;
    if (this.#timer !== null || intervalMs > 0) this.#schedule();
  }

  /** 0x8202: another interval for a while; interval 0 ends that. */
  followClosely(intervalMs: number, durationMs: number): void {
    this.#closeIntervalMs = intervalMs;
    this.#closeUntilMs = intervalMs === 0 ? 0 : Date.now() + durationMs;
    this.#schedule();
  }

  /** Makes one report and sends it if there is a connection. */
  report(extras: readonly Extra[] = []): ReportRecord {
    const report = this.journal.add(this.#vehicle.report(this.journal.nextId, extras));
    if (this.#port.isOnline()) this.#sendOne(report);
    return report;
  }

  /** Makes reports and sends them in 0x0704 of one frame each; without a connection they are kept and sent later. */
  reportBatch(count: number): ReportRecord[] {
    const reports = Array.from({ length: count }, () => this.journal.add(this.#vehicle.report(this.journal.nextId)));
    if (this.#port.isOnline()) for (const batch of batchesOf(reports)) this.#sendBatch(batch, NORMAL_BATCH);
    return reports;
  }

  /** The terminal is online: catches up with what was not acknowledged, as a batch (2011 has none). */
  online(): void {
    this.#resend(Number.POSITIVE_INFINITY);
  }

  /** Sends again what has waited too long for its acknowledgement. */
  resendOverdue(): void {
    this.#resend(Date.now() - this.#options.replyTimeoutMs);
  }

  /** 0x8001 to 0x0200 or 0x0704. */
  acknowledge(serial: number, result: number): void {
    for (const report of this.journal.acknowledge(serial, result)) this.#vehicle.alarms.acknowledged(report.alarm);
  }

  #resend(beforeMs: number): void {
    for (const batch of batchesOf(this.journal.overdue(beforeMs))) {
      const [only] = batch;
      if (this.#options.edition === '2011') {
        for (const report of batch) this.#sendOne(report);
      } else if (batch.length === 1 && only !== undefined && beforeMs !== Number.POSITIVE_INFINITY) {
        this.#sendOne(only);
      } else {
        this.#sendBatch(batch, BLIND_AREA);
      }
    }
  }

  #sendOne(report: ReportRecord): void {
    const [frame] = this.#port.transmit({ messageId: 0x0200, body: report.body });
    if (frame !== undefined) this.journal.sent(frame.serial, 0x0200, [report]);
  }

  #sendBatch(batch: readonly ReportRecord[], locationType: 0 | 1): void {
    const [frame] = this.#port.transmit({ messageId: 0x0704, body: batchBody(batch, locationType) });
    if (frame !== undefined) this.journal.sent(frame.serial, 0x0704, batch);
  }

  #schedule(): void {
    this.stop();
    const isClose = Date.now() < this.#closeUntilMs;
    const intervalMs = isClose ? this.#closeIntervalMs : this.#intervalMs;
    if (intervalMs <= 0) return;
    this.#timer = setTimeout(() => {
      this.report();
      this.#schedule();
    }, intervalMs);
  }
}
