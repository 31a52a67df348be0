import { Counter, createMetrics, Gauge, Histogram, type Registry } from '@fleet/service-kit';

/** Hot-path counters: plain numbers that are read when metrics are scraped. */
class HotCounters {
  framesIn = 0;
  framesOut = 0;
  bytesIn = 0;
  reports = 0;
  reportsDropped = 0;
}

/** Holds the metrics of one gateway. */
export class GatewayMetrics {
  readonly registry: Registry = createMetrics('jt808-gateway');
  readonly hot = new HotCounters();
  readonly connections = new Gauge({
    name: 'gateway_connections',
    help: 'open TCP connections',
    registers: [this.registry],
  });
  readonly sessions = new Gauge({
    name: 'gateway_sessions',
    help: 'authenticated terminals',
    labelNames: ['edition'],
    registers: [this.registry],
  });
  readonly closed = new Counter({
    name: 'gateway_connections_closed_total',
    help: 'closed connections by reason',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly droppedFrames = new Counter({
    name: 'gateway_frames_dropped_total',
    help: 'invalid frames, counted when their connection closes',
    labelNames: ['kind'],
    registers: [this.registry],
  });
  readonly droppedMessages = new Counter({
    name: 'gateway_messages_dropped_total',
    help: 'messages that were dropped because of their body or their parts',
    labelNames: ['kind'],
    registers: [this.registry],
  });
  readonly garbageConnections = new Counter({
    name: 'gateway_garbage_connections_total',
    help: 'closed connections that sent bytes before their first frame',
    registers: [this.registry],
  });
  readonly refused = new Counter({
    name: 'gateway_messages_refused_total',
    help: 'messages that were refused',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly logins = new Counter({
    name: 'gateway_logins_total',
    help: 'registrations and authentications by result',
    labelNames: ['message', 'result'],
    registers: [this.registry],
  });
  readonly batches = new Counter({
    name: 'gateway_telemetry_batches_total',
    help: 'telemetry batches by result',
    labelNames: ['result'],
    registers: [this.registry],
  });
  readonly batchReports = new Histogram({
    name: 'gateway_telemetry_batch_reports',
    help: 'reports in a batch',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000],
    registers: [this.registry],
  });
  readonly pubAckSeconds = new Histogram({
    name: 'gateway_puback_seconds',
    help: 'time until JetStream confirms a batch',
    buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 1, 5, 30],
    registers: [this.registry],
  });
  readonly events = new Counter({
    name: 'gateway_events_total',
    help: 'messages other than locations published to JetStream, by result',
    labelNames: ['result'],
    registers: [this.registry],
  });
  readonly commands = new Counter({
    name: 'gateway_commands_total',
    help: 'commands by kind and outcome',
    labelNames: ['kind', 'outcome'],
    registers: [this.registry],
  });
  readonly unmatchedResponses = new Counter({
    name: 'gateway_unmatched_responses_total',
    help: 'responses of terminals that match no pending command: late, repeated, wrong serial or id, malformed',
    labelNames: ['reason'],
    registers: [this.registry],
  });
  readonly redisFailures = new Counter({
    name: 'gateway_redis_failures_total',
    help: 'failed Redis operations',
    labelNames: ['operation'],
    registers: [this.registry],
  });

  constructor() {
    // A rate needs a first value: an alert would miss the first drop.
    for (const counter of [this.batches, this.events]) counter.inc({ result: 'dropped' }, 0);
    this.#registerHotCounter('gateway_frames_in_total', 'frames received from terminals', () => this.hot.framesIn);
    this.#registerHotCounter('gateway_frames_out_total', 'frames sent to terminals', () => this.hot.framesOut);
    this.#registerHotCounter('gateway_reports_total', 'location reports received', () => this.hot.reports);
    this.#registerHotCounter(
      'gateway_reports_dropped_total',
      'location reports left unacknowledged because JetStream did not confirm them',
      () => this.hot.reportsDropped,
    );
  }

  #registerHotCounter(name: string, help: string, read: () => number): void {
    const counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect: () => {
        counter.reset();
        counter.inc(read());
      },
    });
  }
}
