import { Counter, Histogram, type Registry } from '@fleet/service-kit';

/** Counters of the telemetry consumer. */
export class TelemetryMetrics {
  readonly #messages: Counter;
  readonly #reports: Counter;
  readonly #raised: Counter;
  readonly #faults: Counter;
  readonly #unknown: Counter;
  readonly #leftOut: Counter;
  readonly #seconds: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#messages = new Counter({ name: 'telemetry_messages_total', help: 'stored batches applied', registers });
    this.#reports = new Counter({ name: 'telemetry_reports_total', help: 'reports applied', registers });
    this.#raised = new Counter({ name: 'telemetry_raised_total', help: 'notifications raised by rules', registers });
    this.#faults = new Counter({ name: 'telemetry_faults_total', help: 'invalid reports', registers });
    this.#unknown = new Counter({
      name: 'telemetry_unknown_total',
      help: 'reports of terminals without a vehicle, or from before the terminal was assigned',
      registers,
    });
    this.#leftOut = new Counter({
      name: 'telemetry_points_left_out_total',
      help: 'reports left out of the history, because too many have the same time',
      registers,
    });
    this.#seconds = new Histogram({
      name: 'telemetry_unit_seconds',
      help: 'time from the evaluation of a unit of batches until it is written',
      buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5],
      registers,
    });
  }

  applied(messages: number, reports: number, raised: number, ms: number): void {
    this.#messages.inc(messages);
    this.#reports.inc(reports);
    this.#raised.inc(raised);
    this.#seconds.observe(ms / 1_000);
  }

  unknown(reports: number): void {
    this.#unknown.inc(reports);
  }

  leftOut(points: number): void {
    this.#leftOut.inc(points);
  }

  fault(): void {
    this.#faults.inc();
  }
}
