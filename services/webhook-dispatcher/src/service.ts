import type { SecureContext } from 'node:tls';
import { type Bus, ensureStreams, fleetChanged, openBus, publish, servePing, toStreamOptions } from '@fleet/bus';
import {
  createLogger,
  dayMs,
  Encryption,
  getPodId,
  hourMs,
  Lifecycle,
  type Logger,
  type Running,
  redactConfig,
  retryUntilSuccess,
  runPeriodically,
  SsrfGuard,
  type SsrfGuardOptions,
  startAdminServer,
} from '@fleet/service-kit';
import {
  connectRedis,
  type Database,
  openDatabase,
  pingRedis,
  type Redis,
  type WebhookHealth,
  WebhookRepository,
} from '@fleet/storage';
import { type Config, parseNumbers, schema } from './config.ts';
import { serveRequests } from './handlers/requests.ts';
import { consumeDue, consumeNotifications } from './handlers/streams.ts';
import { createDispatcherMetrics, type DispatcherMetrics } from './metrics.ts';
import { createTrustStore } from './net/connections.ts';
import { type EndpointBulkhead, EndpointBulkheads } from './net/endpoint-bulkhead.ts';
import { Subscribers } from './store/subscribers.ts';
import { WebhookHealthWriter } from './store/webhook-health-writer.ts';
import { type AttemptDeps, Attempts } from './use-cases/attempts.ts';
import { FailureNotices } from './use-cases/failure-notices.ts';
import { publishDelivery } from './use-cases/publish-delivery.ts';
import type { SendDeps } from './use-cases/send-attempt.ts';
import { Sweep } from './use-cases/sweep.ts';

export interface WebhookDispatcher extends Running {
  readonly adminPort: number;
}

/** Replacements for tests. */
export interface Overrides {
  readonly log?: Logger;
  readonly resolve?: SsrfGuardOptions['resolve'];
  /** Default: one hour. */
  readonly pruneIntervalMs?: number;
}

interface DispatcherDeps {
  readonly config: Config;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly metrics: DispatcherMetrics;
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly subscribers: Subscribers;
  readonly send: SendDeps;
  readonly trust: SecureContext | undefined;
  readonly pruneIntervalMs: number;
  readonly onError: (error: unknown) => void;
}

/**
 * Starts the service. Health responds immediately; the service is ready once the broker, Redis and the database are
 * available.
 */
export async function create(config: Config, overrides: Overrides = {}): Promise<WebhookDispatcher> {
  const log = overrides.log ?? createLogger('webhook-dispatcher', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  log.info(redactConfig(schema, config), 'starting');
  try {
    return await start(config, log, lifecycle, overrides);
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

async function start(
  config: Config,
  log: Logger,
  lifecycle: Lifecycle,
  overrides: Overrides,
): Promise<WebhookDispatcher> {
  const name = getPodId(config.POD_ID);
  // Reports their faults at the start.
  const trust = createTrustStore(config.WEBHOOK_CA_FILE);
  const send = createSendDeps(config, overrides);
  const metrics = createDispatcherMetrics();
  const backends: Backends = {};
  const adminPort = await openAdminPort(config, { log, lifecycle, metrics, backends });
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  backends.database = database;
  lifecycle.onStop('database', () => database.close());
  const redis = await connectRedis(config.REDIS_URL, {
    name,
    onError: (error) => log.warn({ detail: error instanceof Error ? error.message : error }, 'Redis is unavailable'),
  });
  backends.redis = redis;
  lifecycle.onStop('redis', () => redis.destroy());
  const bus = await openBus(config.NATS_URL, { name, log });
  backends.bus = bus;
  lifecycle.onStop('bus', () => bus.close());

  const onError = (error: unknown): void => log.error({ err: error }, 'operation failed, retrying');
  const records = new WebhookRepository(database);
  const subscribers = new Subscribers(records, bus, onError);
  lifecycle.onStop('subscribers', () => subscribers.stop());
  const { pruneIntervalMs = hourMs } = overrides;
  const stores = { bus, records, subscribers };
  startDispatching({ config, log, lifecycle, metrics, ...stores, send, trust, pruneIntervalMs, onError });
  const ping = servePing(bus, 'webhook-dispatcher', { onError });
  lifecycle.onStop('ping', () => ping.stop());
  await bus.flush();
  lifecycle.markStarted();
  log.info({ adminPort }, 'started');
  return { adminPort, stop: () => lifecycle.stop() };
}

/** Connections that the health checks test, each missing until it is opened. */
interface Backends {
  database?: Database;
  bus?: Bus;
  redis?: Redis;
}

const openAdminPort = (
  config: Config,
  { log, lifecycle, metrics, backends }: Pick<DispatcherDeps, 'log' | 'lifecycle' | 'metrics'> & { backends: Backends },
): Promise<number> =>
  startAdminServer({
    config,
    lifecycle,
    log,
    metrics: metrics.registry,
    checks: { message_broker: () => backends.bus?.isUp() ?? false },
    backends: {
      state_store: () => backends.redis !== undefined && pingRedis(backends.redis),
      database: () => backends.database?.ping() ?? false,
    },
  });

const createSendDeps = (config: Config, { resolve }: Overrides): SendDeps => ({
  guard: new SsrfGuard({
    allowHttp: config.WEBHOOK_ALLOW_HTTP,
    allowedCidrs: parseNetworks(config.WEBHOOK_ALLOWED_CIDRS),
    ...(resolve === undefined ? {} : { resolve }),
  }),
  encryption: new Encryption(config.ENCRYPTION_KEY),
  connectTimeoutMs: config.WEBHOOK_CONNECT_TIMEOUT_MS,
  attemptTimeoutMs: config.WEBHOOK_ATTEMPT_TIMEOUT_MS,
});

/** Starts the consumers, the attempts and the bus requests. Parts that stop first start last. */
function startDispatching(deps: DispatcherDeps): void {
  const { config, lifecycle, metrics, bus, records, subscribers, send, onError } = deps;
  const health: WebhookHealthWriter = new WebhookHealthWriter({
    records,
    subscribers,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER_MS,
    onDisabled: (health) => reportDisabled(deps, health),
    onNotice: ({ _id }) => void notices.notifyOwner(_id),
    onError,
  });
  const notices = new FailureNotices({ bus, records, health, onError });
  lifecycle.onStop('notices', () => notices.stop());
  lifecycle.onStop('health of webhooks', () => health.stop());
  const bulkheads = new EndpointBulkheads({
    concurrency: config.WEBHOOK_CONCURRENCY,
    breakerOpenMs: config.WEBHOOK_BREAKER_OPEN_MS,
    trust: deps.trust,
    onFree: (bulkhead: EndpointBulkhead) => sweep.drain(bulkhead),
  });
  metrics.addGauge('in_flight', () => bulkheads.inFlight);
  metrics.addGauge('open', () => bulkheads.openCount);
  const plan = {
    waitsMs: parseNumbers(config.WEBHOOK_RETRY_WAITS_MS),
    overloadWaitMs: config.WEBHOOK_OVERLOAD_WAIT_MS,
  };
  const onAttempt: AttemptDeps['onAttempt'] = (delivery, change) => publishDelivery(bus, delivery, change);
  const attempts = new Attempts({ records, subscribers, health, bulkheads, send, plan, metrics, onAttempt, onError });
  const replayPerSecond = config.WEBHOOK_REPLAY_PER_SECOND;
  const sweep: Sweep = new Sweep({ records, attempts, bulkheads, replayPerSecond, onError });
  lifecycle.onStop('lanes', () => bulkheads.close());
  lifecycle.onStop('attempts in progress', () => sweep.stop());
  startTasks(deps, { sweep, notices });
  const requests = serveRequests({ ...deps, sweep, replayPerSecond });
  lifecycle.onStop('bus requests', () => requests.stop());
  const streams = {
    ...deps,
    attempts,
    maxInFlight: config.WEBHOOK_MAX_IN_FLIGHT,
    ackWaitMs: config.WEBHOOK_ACK_WAIT_MS,
  };
  for (const consumer of [consumeDue(streams), consumeNotifications(streams)])
    lifecycle.onStop('stream', () => consumer.stop());
}

const requeueIntervalMs = 300_000;
const requeueAfterMs = 600_000;
/** Remaining work is done by the next run. */
const requeueTimeoutMs = 60_000;

// Periodic jobs. Two replicas may run one at the same time.
function startTasks(
  { config, lifecycle, bus, records, log, pruneIntervalMs, onError }: DispatcherDeps,
  { sweep, notices }: { sweep: Sweep; notices: FailureNotices },
): void {
  const requeueLost = async (): Promise<void> => {
    const deadlineMs = performance.now() + requeueTimeoutMs;
    const shouldStop = (): boolean => lifecycle.isStopping || performance.now() >= deadlineMs;
    const requeued = await records.schedule.requeueLost({ beforeMs: Date.now() - requeueAfterMs, shouldStop });
    if (requeued > 0) log.warn({ requeued }, 'requeued lost deliveries');
  };
  const tasks: readonly (readonly [number, () => Promise<unknown>])[] = [
    [config.WEBHOOK_SWEEP_MS, () => sweep.run()],
    [config.WEBHOOK_NOTICES_MS, () => notices.notifyOwners(() => lifecycle.isStopping)],
    [requeueIntervalMs, requeueLost],
    [pruneIntervalMs, () => records.deliveries.prune(Date.now() - config.WEBHOOK_RETENTION_DAYS * dayMs)],
  ];
  for (const [intervalMs, task] of tasks) lifecycle.onStop('task', runPeriodically(intervalMs, task, onError));
  const prepare = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
    await records.ensureIndexes();
  };
  lifecycle.onStop('start', retryUntilSuccess(prepare, onError).stop);
}

function reportDisabled(
  { bus, records, metrics, log, onError }: DispatcherDeps,
  { _id, disabledReason }: WebhookHealth,
): void {
  if (disabledReason === null) return;
  metrics.disabled.inc({ reason: disabledReason });
  log.warn({ webhookId: _id, reason: disabledReason }, 'webhook disabled');
  const publishChange = async (): Promise<void> => {
    const webhook = await records.findWebhook(_id);
    if (webhook !== null) publish(bus, fleetChanged, { accountId: webhook.accountId, kind: 'webhooks' });
  };
  void publishChange().catch(onError);
}

const parseNetworks = (text: string): string[] =>
  text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
