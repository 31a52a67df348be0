import type { AdditionalItem } from '@fleet/jt808';
import { encodeBatchBody, LocationJournal, type ReportRecord, splitIntoBatches } from './location-journal.ts';
import type { OutgoingFrame } from './message-encoder.ts';
import type { ResolvedOptions, TerminalMessage } from './terminal-options.ts';
import type { Vehicle } from './vehicle.ts';

/** Dependencies of a reporter on its terminal. */
interface ReporterDeps {
  isOnline(): boolean;
  transmit(message: TerminalMessage): readonly OutgoingFrame[];
}

/** Location types of 0x0704. */
const normalBatch = 0;
const blindAreaBatch = 1;

/** Creates location reports at intervals, and sends each until it is acknowledged. */
export class Reporter {
  readonly journal: LocationJournal;
  readonly #vehicle: Vehicle;
  readonly #deps: ReporterDeps;
  readonly #options: ResolvedOptions;
  #timer: NodeJS.Timeout | null = null;
  #intervalMs: number;
  #trackingIntervalMs = 0;
  #trackingUntilMs = 0;

  constructor(options: ResolvedOptions, vehicle: Vehicle, deps: ReporterDeps) {
    this.#options = options;
    this.#vehicle = vehicle;
    this.#deps = deps;
    this.#intervalMs = options.reportIntervalMs;
    this.journal = new LocationJournal(options.logLimit);
  }

  /** Starts reporting at intervals; sends the first report after one interval. */
  start(): void {
    this.#schedule();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Changes the interval (parameter 0x0029); 0 disables reports. */
  setInterval(intervalMs: number): void {
    this.#intervalMs = intervalMs;
    if (this.#timer !== null || intervalMs > 0) this.#schedule();
  }

  /** Handles 0x8202: uses another interval for a limited time; interval 0 ends tracking. */
  startTemporaryTracking(intervalMs: number, durationMs: number): void {
    this.#trackingIntervalMs = intervalMs;
    this.#trackingUntilMs = intervalMs === 0 ? 0 : Date.now() + durationMs;
    this.#schedule();
  }

  /** Creates one report and sends it if the terminal is online. */
  report(items: readonly AdditionalItem[] = []): ReportRecord {
    const report = this.journal.add(this.#vehicle.createReport(this.journal.nextId, items));
    if (this.#deps.isOnline()) this.#sendReport(report);
    return report;
  }

  /**
   * Creates reports and sends them in 0x0704 messages of one frame each; without a connection they are stored and sent
   * later.
   */
  reportBatch(count: number): ReportRecord[] {
    const reports = Array.from({ length: count }, () =>
      this.journal.add(this.#vehicle.createReport(this.journal.nextId)),
    );
    if (this.#deps.isOnline()) for (const batch of splitIntoBatches(reports)) this.#sendBatch(batch, normalBatch);
    return reports;
  }

  /** Sends the unacknowledged reports when the terminal comes online, as a batch (2011 has none). */
  onOnline(): void {
    this.#resend(Number.POSITIVE_INFINITY);
  }

  /** Resends reports whose acknowledgement is overdue. */
  resendOverdue(): void {
    this.#resend(Date.now() - this.#options.replyTimeoutMs);
  }

  /** Handles the 0x8001 for a 0x0200 or 0x0704. */
  acknowledge(serial: number, result: number): void {
    for (const report of this.journal.acknowledge(serial, result)) this.#vehicle.alarms.acknowledge(report.alarm);
  }

  #resend(beforeMs: number): void {
    for (const batch of splitIntoBatches(this.journal.findOverdue(beforeMs))) {
      const [singleReport] = batch;
      if (this.#options.edition === '2011') {
        for (const report of batch) this.#sendReport(report);
      } else if (batch.length === 1 && singleReport !== undefined && beforeMs !== Number.POSITIVE_INFINITY) {
        this.#sendReport(singleReport);
      } else {
        this.#sendBatch(batch, blindAreaBatch);
      }
    }
  }

  #sendReport(report: ReportRecord): void {
    const [frame] = this.#deps.transmit({ messageId: 0x0200, body: report.body });
    if (frame !== undefined) this.journal.recordSent(frame.serial, 0x0200, [report]);
  }

  #sendBatch(batch: readonly ReportRecord[], locationType: 0 | 1): void {
    const [frame] = this.#deps.transmit({ messageId: 0x0704, body: encodeBatchBody(batch, locationType) });
    if (frame !== undefined) this.journal.recordSent(frame.serial, 0x0704, batch);
  }

  #schedule(): void {
    this.stop();
    const isTracking = Date.now() < this.#trackingUntilMs;
    const intervalMs = isTracking ? this.#trackingIntervalMs : this.#intervalMs;
    if (intervalMs <= 0) return;
    this.#timer = setTimeout(() => {
      this.report();
      this.#schedule();
    }, intervalMs);
  }
}
