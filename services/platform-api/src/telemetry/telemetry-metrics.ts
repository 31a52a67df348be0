import { Counter, Histogram, type Registry } from '@fleet/service-kit';

/** Holds the counters of the telemetry consumer. */
export class TelemetryMetrics {
  readonly #messages: Counter;
  readonly #reports: Counter;
  readonly #findings: Counter;
  readonly #faults: Counter;
  readonly #unknown: Counter;
  readonly #dropped: Counter;
  readonly #seconds: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.#messages = new Counter({ name: 'telemetry_messages_total', help: 'stored batches applied', registers });
    this.#reports = new Counter({ name: 'telemetry_reports_total', help: 'reports applied', registers });
    this.#findings = new Counter({ name: 'telemetry_raised_total', help: 'notifications raised by rules', registers });
    this.#faults = new Counter({ name: 'telemetry_faults_total', help: 'invalid reports', registers });
    this.#unknown = new Counter({
      name: 'telemetry_unknown_total',
      help: 'reports of terminals without a vehicle, or from before the terminal was assigned',
      registers,
    });
    this.#dropped = new Counter({
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
    this.#findings.inc(raised);
    this.#seconds.observe(ms / 1_000);
  }

  unknown(reports: number): void {
    this.#unknown.inc(reports);
  }

  dropped(points: number): void {
    this.#dropped.inc(points);
  }

  fault(): void {
    this.#faults.inc();
  }
}
