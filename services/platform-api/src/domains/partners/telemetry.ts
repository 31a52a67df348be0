import {
  appendPartnerReport,
  type Bus,
  ensureStreams,
  JetStreamPublisher,
  maxBatchBytes,
  type PartnerReport,
  type StreamConfig,
  TelemetryBatch,
  telemetryPartition,
  telemetrySubject,
  toStreamOptions,
} from '@fleet/bus';
import { AppError, type Logger } from '@fleet/service-kit';
import type { Config } from '../../assembly/config.ts';

/** A report of a device, by its canonical number. */
export interface DeviceReport {
  readonly imei: string;
  readonly receivedAtMs: number;
  readonly report: PartnerReport;
}

/** Timeout after which the broker counts as unavailable. */
const timeoutMs = 10_000;
const maxReportBytes = 8 * 1024;

/** Publishes reports of partners to the stream of terminals' reports. */
export class PartnerTelemetry {
  readonly #bus: Bus;
  readonly #config: StreamConfig & Pick<Config, 'TELEMETRY_PARTITIONS'>;
  readonly #publisher: JetStreamPublisher;
  #streams: Promise<void> | undefined;

  constructor(bus: Bus, config: StreamConfig & Pick<Config, 'TELEMETRY_PARTITIONS'>, log: Logger) {
    this.#bus = bus;
    this.#config = config;
    const onRejected = (detail: string): void => log.warn({ detail }, "could not store a partner's reports yet");
    this.#publisher = new JetStreamPublisher(bus, { timeoutMs, onRejected });
  }

  /** Resolves once JetStream has stored all reports; throws 503 if it does not. */
  async store(reports: readonly DeviceReport[]): Promise<void> {
    await this.#ensureStreams();
    const batches = new Map<number, TelemetryBatch>();
    const sent: Promise<void>[] = [];
    for (const { imei, receivedAtMs, report } of reports) {
      const partition = telemetryPartition(imei, this.#config.TELEMETRY_PARTITIONS);
      const batch = batches.get(partition) ?? new TelemetryBatch();
      batches.set(partition, batch);
      if (batch.size + maxReportBytes > maxBatchBytes) sent.push(this.#publish(partition, batch));
      appendPartnerReport(batch, imei, receivedAtMs, report);
    }
    for (const [partition, batch] of batches) sent.push(this.#publish(partition, batch));
    await Promise.all(sent);
  }

  stop(): void {
    this.#publisher.stop();
  }

  #publish(partition: number, batch: TelemetryBatch): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (stored: boolean): void => {
        if (stored) resolve();
        else reject(new AppError('unavailable', 'The reports cannot be stored at the moment. Retry.'));
      };
      if (!this.#publisher.publish(telemetrySubject(partition), batch.take(), done)) done(false);
    });
  }

  async #ensureStreams(): Promise<void> {
    this.#streams ??= this.#createStreams();
    try {
      await this.#streams;
    } catch (cause) {
      // The next request retries.
      this.#streams = undefined;
      throw new AppError('unavailable', 'The reports cannot be stored at the moment. Retry.', { cause });
    }
  }

  async #createStreams(): Promise<void> {
    await ensureStreams(await this.#bus.jetstreamManager(), toStreamOptions(this.#config));
  }
}
