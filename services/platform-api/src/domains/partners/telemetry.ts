import {
  appendPartnerReport,
  type Bus,
  ensureStreams,
  JetStreamPublisher,
  maxBatchBytes,
  type PartnerReport,
  TelemetryBatch,
  telemetryPartition,
  telemetrySubject,
} from '@fleet/bus';
import { AppError, type Logger } from '@fleet/service-kit';
import type { Config } from '../../assembly/config.ts';

/** A report of a device by its canonical number. */
export interface DeviceReport {
  readonly imei: string;
  readonly receivedAtMs: number;
  readonly report: PartnerReport;
}

/** A broker that has not stored something by then is away. */
const giveUpAfterMs = 10_000;
const largestReportBytes = 8 * 1024;

/** What partners send on its way into the stream that terminals' reports go to. */
export class PartnerTelemetry {
  readonly #bus: Bus;
  readonly #config: Pick<Config, 'TELEMETRY_PARTITIONS' | 'JETSTREAM_REPLICAS'>;
  readonly #publisher: JetStreamPublisher;
  #streams: Promise<void> | undefined;

  constructor(bus: Bus, config: Pick<Config, 'TELEMETRY_PARTITIONS' | 'JETSTREAM_REPLICAS'>, log: Logger) {
    this.#bus = bus;
    this.#config = config;
    const onRefused = (detail: string): void => log.warn({ detail }, "a partner's reports are not stored yet");
    this.#publisher = new JetStreamPublisher(bus, { timeoutMs: giveUpAfterMs, onRejected: onRefused });
  }

  /** Resolves once JetStream has all of the reports; 503 when it does not take them. */
  async store(reports: readonly DeviceReport[]): Promise<void> {
    await this.#ensureStreams();
    const batches = new Map<number, TelemetryBatch>();
    const sent: Promise<void>[] = [];
    for (const { imei, receivedAtMs, report } of reports) {
      const partition = telemetryPartition(imei, this.#config.TELEMETRY_PARTITIONS);
      const batch = batches.get(partition) ?? new TelemetryBatch();
      batches.set(partition, batch);
      if (batch.size + largestReportBytes > maxBatchBytes) sent.push(this.#publish(partition, batch));
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
        else reject(new AppError('unavailable', 'The reports cannot be stored at the moment.'));
      };
      if (!this.#publisher.publish(telemetrySubject(partition), batch.take(), done)) done(false);
    });
  }

  async #ensureStreams(): Promise<void> {
    this.#streams ??= this.#makeStreams();
    try {
      await this.#streams;
    } catch (cause) {
      // The next request tries again.
      this.#streams = undefined;
      throw new AppError('unavailable', 'The reports cannot be stored at the moment.', { cause });
    }
  }

  async #makeStreams(): Promise<void> {
    await ensureStreams(await this.#bus.jetstreamManager(), { replicas: this.#config.JETSTREAM_REPLICAS });
  }
}
