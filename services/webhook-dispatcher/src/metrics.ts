import { Counter, createMetrics, Gauge, Histogram, type Registry } from '@fleet/service-kit';
import type { AttemptOutcome } from './use-cases/send-attempt.ts';

export interface DispatcherMetrics {
  readonly registry: Registry;
  readonly notifications: Counter<'outcome'>;
  readonly deliveries: Counter<'status'>;
  readonly deferred: Counter<'reason'>;
  readonly disabled: Counter<'reason'>;
  recordAttempt(outcome: Pick<AttemptOutcome, 'isSuccess' | 'attempt'>): void;
  /** Registers a gauge. */
  addGauge(name: 'in_flight' | 'open', read: () => number): void;
}

const gauges = {
  in_flight: ['webhook_attempts_in_flight', 'attempts in progress'],
  open: ['webhook_breakers_open', 'webhooks that are paused because they fail'],
} as const;

export function createDispatcherMetrics(): DispatcherMetrics {
  const registry = createMetrics('webhook-dispatcher');
  const counter = <L extends string>(name: string, help: string, labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers: [registry] });
  const attempts = counter(
    'webhook_attempts_total',
    'attempts by result: succeeded, the status class, the error, or unsent',
    ['result'],
  );
  const seconds = new Histogram({
    name: 'webhook_attempt_seconds',
    help: 'duration of attempts',
    buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15],
    registers: [registry],
  });
  return {
    registry,
    notifications: counter('webhook_notifications_total', 'consumed notifications: taken, unreadable', ['outcome']),
    deliveries: counter('webhook_deliveries_total', 'deliveries that ended in this replica', ['status']),
    deferred: counter('webhook_deferred_total', 'deferred attempts: breaker, slots', ['reason']),
    disabled: counter('webhook_disabled_total', 'webhooks disabled by this replica: failing, gone', ['reason']),
    recordAttempt: ({ isSuccess, attempt }) => {
      const { statusCode } = attempt;
      const status = statusCode === null ? 'unsent' : `${Math.floor(statusCode / 100)}xx`;
      attempts.inc({ result: isSuccess ? 'succeeded' : (attempt.errorCode ?? status) });
      seconds.observe(attempt.durationMs / 1_000);
    },
    addGauge: (name, read) => {
      const [metric, help] = gauges[name];
      const gauge = new Gauge({
        name: metric,
        help,
        registers: [],
        collect() {
          this.set(read());
        },
      });
      registry.registerMetric(gauge);
    },
  };
}
