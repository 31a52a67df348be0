import type { SecureContext } from 'node:tls';
import { announce, type Bus, ensureStreams, fleetChanged, openBus, servePing } from '@fleet/bus';
import {
  AddressGuard,
  type AddressGuardOptions,
  adminRoutes,
  apiErrors,
  createApp,
  createLogger,
  Encryption,
  every,
  Lifecycle,
  type Logger,
  listen,
  podId,
  type Running,
  shownConfig,
  untilDone,
} from '@fleet/service-kit';
import { openDatabase, openRedis, type Redis, redisAnswers, type WebhookHealth, WebhookRecords } from '@fleet/storage';
import { type Config, numbersOf, schema } from './config.ts';
import { serveRequests } from './handlers/requests.ts';
import { consumeDue, consumeNotifications } from './handlers/streams.ts';
import { type DispatcherMetrics, dispatcherMetrics } from './metrics.ts';
import { trustOf } from './net/connections.ts';
import { type Lane, Lanes } from './net/lane.ts';
import { HealthKeeper } from './store/health-keeper.ts';
import { Subscribers } from './store/subscribers.ts';
import { Attempts } from './use-cases/attempts.ts';
import { Notices } from './use-cases/notices.ts';
import type { SendParts } from './use-cases/send-attempt.ts';
import { Sweep } from './use-cases/sweep.ts';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export interface WebhookDispatcher extends Running {
  readonly httpPort: number;
}

/** What tests put in the place of the real thing. */
export interface Overrides {
  readonly log?: Logger;
  readonly resolve?: AddressGuardOptions['resolve'];
  /** An hour otherwise. */
  readonly pruneEveryMs?: number;
}

interface Parts {
  readonly config: Config;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly metrics: DispatcherMetrics;
  readonly bus: Bus;
  readonly records: WebhookRecords;
  readonly subscribers: Subscribers;
  readonly send: SendParts;
  readonly trust: SecureContext | undefined;
  readonly pruneEveryMs: number;
  readonly onError: (error: unknown) => void;
}

/** Starts the service: health answers from the first moment; it is ready once the broker, Redis and the database are there. */
export async function create(config: Config, overrides: Overrides = {}): Promise<WebhookDispatcher> {
  const log = overrides.log ?? createLogger('webhook-dispatcher', config.LOG_LEVEL);
  const lifecycle = new Lifecycle(log);
  log.info(shownConfig(schema, config), 'starting');
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
  const name = podId(config.POD_ID);
  // What is wrong with these shows at the start.
  const trust = trustOf(config.WEBHOOK_CA_FILE);
  const guard = new AddressGuard({
    allowHttp: config.WEBHOOK_ALLOW_HTTP,
    allowedCidrs: networksOf(config.WEBHOOK_ALLOWED_CIDRS),
    ...(overrides.resolve === undefined ? {} : { resolve: overrides.resolve }),
  });
  const database = openDatabase(config.MONGODB_URL, { appName: name });
  lifecycle.onStop('database', () => database.close());

  const metrics = dispatcherMetrics();
  let bus: Bus | undefined;
  let redis: Redis | undefined;
  const app = createApp();
  app.use(
    adminRoutes(
      lifecycle,
      metrics.registry,
      { message_broker: () => bus?.isUp() ?? false },
      { state_store: () => redis !== undefined && redisAnswers(redis), database: () => database.ping() },
    ),
  );
  app.use(...apiErrors(log));
  const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
  lifecycle.onStop('http', () => http.close());

  const openedRedis = await openRedis(config.REDIS_URL, {
    name,
    onError: (error) =>
      log.warn({ detail: error instanceof Error ? error.message : error }, 'Redis can not be reached'),
  });
  redis = openedRedis;
  lifecycle.onStop('redis', () => openedRedis.destroy());

  const openedBus = await openBus(config.NATS_URL, { name, log });
  bus = openedBus;
  lifecycle.onStop('bus', () => openedBus.close());

  const onError = (error: unknown): void => log.error({ err: error }, 'something failed that is tried again');
  const records = new WebhookRecords(database);
  const subscribers = new Subscribers(records, openedBus, onError);
  lifecycle.onStop('subscribers', () => subscribers.stop());
  const send = {
    guard,
    encryption: new Encryption(config.ENCRYPTION_KEY),
    connectTimeoutMs: config.WEBHOOK_CONNECT_TIMEOUT_MS,
    attemptTimeoutMs: config.WEBHOOK_ATTEMPT_TIMEOUT_MS,
  };
  const { pruneEveryMs = hourMs } = overrides;
  const stores = { bus: openedBus, records, subscribers };
  dispatch({ config, log, lifecycle, metrics, ...stores, send, trust, pruneEveryMs, onError });
  const ping = servePing(openedBus, 'webhook-dispatcher', { onError });
  lifecycle.onStop('ping', () => ping.stop());
  log.info({ httpPort: http.port }, 'started');
  return { httpPort: http.port, stop: () => lifecycle.stop() };
}

/** Reads what is raised, makes attempts, and answers platform-api. What is stopped first is begun last. */
function dispatch(parts: Parts): void {
  const { config, lifecycle, metrics, bus, records, subscribers, send, onError } = parts;
  const health: HealthKeeper = new HealthKeeper({
    records,
    subscribers,
    disableAfterMs: config.WEBHOOK_DISABLE_AFTER_MS,
    onDisabled: (now) => noteDisabled(parts, now),
    onNotice: ({ _id }) => void notices.tell(_id),
    onError,
  });
  const notices = new Notices({ bus, records, health, onError });
  lifecycle.onStop('notices', () => notices.stop());
  lifecycle.onStop('health of webhooks', () => health.stop());
  const lanes = new Lanes({
    concurrency: config.WEBHOOK_CONCURRENCY,
    breakerOpenMs: config.WEBHOOK_BREAKER_OPEN_MS,
    trust: parts.trust,
    onFree: (lane: Lane) => sweep.drain(lane),
  });
  metrics.watch('in_flight', () => lanes.inFlight);
  metrics.watch('open', () => lanes.open);
  const plan = {
    waitsMs: numbersOf(config.WEBHOOK_RETRY_WAITS_MS),
    overloadWaitMs: config.WEBHOOK_OVERLOAD_WAIT_MS,
  };
  const attempts = new Attempts({ records, subscribers, health, lanes, send, plan, metrics, onError });
  const replayPerSecond = config.WEBHOOK_REPLAY_PER_SECOND;
  const sweep: Sweep = new Sweep({ records, attempts, lanes, replayPerSecond, onError });
  lifecycle.onStop('lanes', () => lanes.close());
  lifecycle.onStop('attempts under way', () => sweep.stop());
  startTasks(parts, { sweep, notices });
  const requests = serveRequests({ ...parts, sweep, replayPerSecond });
  lifecycle.onStop('bus requests', () => requests.stop());
  const streams = {
    ...parts,
    attempts,
    maxInFlight: config.WEBHOOK_MAX_IN_FLIGHT,
    ackWaitMs: config.WEBHOOK_ACK_WAIT_MS,
  };
  for (const consumer of [consumeDue(streams), consumeNotifications(streams)])
    lifecycle.onStop('stream', () => consumer.stop());
}

const mendEveryMs = 300_000;
const mendAfterMs = 600_000;
/** What is left behind that is looked at with the next turn. */
const longestMendMs = 60_000;

/** What is done again and again. Two replicas at the same do no harm. */
function startTasks(
  { config, lifecycle, bus, records, log, pruneEveryMs, onError }: Parts,
  { sweep, notices }: { sweep: Sweep; notices: Notices },
): void {
  const mend = async (): Promise<void> => {
    const endMs = performance.now() + longestMendMs;
    const isOver = (): boolean => lifecycle.isStopping || performance.now() >= endMs;
    const mended = await records.mend({ beforeMs: Date.now() - mendAfterMs, isOver });
    if (mended > 0) log.warn({ mended }, 'deliveries that nobody worked at are taken up again');
  };
  const tasks: readonly (readonly [number, () => Promise<unknown>])[] = [
    [config.WEBHOOK_SWEEP_MS, () => sweep.run()],
    [config.WEBHOOK_NOTICES_MS, () => notices.tellAll(() => lifecycle.isStopping)],
    [mendEveryMs, mend],
    [pruneEveryMs, () => records.prune(Date.now() - config.WEBHOOK_KEEP_DAYS * dayMs)],
  ];
  for (const [everyMs, task] of tasks) lifecycle.onStop('task', every(everyMs, task, onError));
  const prepare = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    await records.ensureIndexes();
  };
  lifecycle.onStop('start', untilDone(prepare, onError));
}

function noteDisabled({ bus, records, metrics, log, onError }: Parts, { _id, disabledReason }: WebhookHealth): void {
  if (disabledReason === null) return;
  metrics.disabled.inc({ reason: disabledReason });
  log.warn({ webhookId: _id, reason: disabledReason }, 'a webhook is disabled');
  const tell = async (): Promise<void> => {
    const webhook = await records.webhook(_id);
    if (webhook !== null) announce(bus, fleetChanged, { accountId: webhook.accountId, kind: 'webhooks' });
  };
  void tell().catch(onError);
}

const networksOf = (text: string): string[] =>
  text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
