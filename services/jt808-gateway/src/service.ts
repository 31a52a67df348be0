import { randomBytes } from 'node:crypto';
import { type Bus, ensureStreams, openBus, servePing, toStreamOptions } from '@fleet/bus';
import {
  createLogger,
  getPodId,
  Lifecycle,
  type Logger,
  type Running,
  redactConfig,
  startAdminServer,
} from '@fleet/service-kit';
import { createRedisClient, type Redis } from '@fleet/storage';
import { assemble } from './assemble.ts';
import { type Config, schema } from './config.ts';
import { LogThrottle } from './domain/log-throttle.ts';
import { GatewayMetrics } from './metrics.ts';

/** A running gateway. */
export interface Gateway extends Running {
  readonly jt808Port: number;
  readonly adminPort: number;
  /**
   * Name of this process in Redis and on the bus. It is new with every start, so a restart does not revive the sessions
   * of its predecessor.
   */
  readonly podId: string;
  /** Makes a shutdown in progress stop waiting for commands in flight. */
  forceStop(): void;
}

/**
 * Starts the service: health and metrics, Redis, the bus, then the parts for terminals. It stops in reverse order.
 * Several instances may run in one process.
 */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<Gateway> {
  const log = overrides.log ?? createLogger('jt808-gateway', config.LOG_LEVEL);
  const podId = `${getPodId(config.POD_ID).slice(0, 54)}-${randomBytes(4).toString('hex')}`;
  const lifecycle = new Lifecycle(log, { stepTimeoutMs: config.DRAIN_COMMANDS_MS + config.DRAIN_SPREAD_MS + 15_000 });
  log.info({ ...redactConfig(schema, config), podId }, 'starting');
  try {
    const metrics = new GatewayMetrics();
    let bus: Bus | undefined;
    const adminPort = await startAdminServer({
      config,
      lifecycle,
      log,
      metrics: metrics.registry,
      // Redis is not checked: the gateway works without it.
      checks: { message_broker: () => bus?.isUp() ?? false },
    });
    const redis = openRedis(config, podId, lifecycle, log);
    bus = await openBrokerConnection(config, podId, lifecycle, log);
    const drainAbort = new AbortController();
    const drainAbortSignal = drainAbort.signal;
    const { port: jt808Port } = await assemble({
      config,
      log,
      podId,
      lifecycle,
      metrics,
      bus,
      redis,
      drainAbortSignal,
    });
    await startPing(bus, lifecycle, log);
    lifecycle.markStarted();
    log.info({ jt808Port, adminPort, podId }, 'started');
    return { jt808Port, adminPort, podId, stop: () => lifecycle.stop(), forceStop: () => drainAbort.abort() };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

/** Creates the client of Redis without waiting for its connection. */
function openRedis(config: Config, name: string, lifecycle: Lifecycle, log: Logger): Redis {
  const logThrottle = new LogThrottle(1);
  const redis = createRedisClient(config.REDIS_URL, {
    name,
    onError: (error) => {
      if (!lifecycle.isStopping && logThrottle.tryAcquire()) log.warn({ err: error }, 'Redis connection failed');
    },
  });
  lifecycle.onStop('redis', () => redis.destroy());
  return redis;
}

/** Connects to the broker and creates the streams, now and after each reconnect. */
async function openBrokerConnection(config: Config, name: string, lifecycle: Lifecycle, log: Logger): Promise<Bus> {
  const bus = await openBus(config.NATS_URL, { name, log });
  lifecycle.onStop('bus', () => bus.close());
  const createStreams = async (): Promise<void> => ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
  await createStreams();
  // A broker that restarted empty has no streams. Without them no report would be acknowledged again.
  bus.onReconnect(() => {
    createStreams().catch((error: unknown) => log.warn({ err: error }, 'could not restore the streams'));
  });
  return bus;
}

/** Responds to pings of `/health`. Resolves once the broker knows all subscriptions. */
async function startPing(bus: Bus, lifecycle: Lifecycle, log: Logger): Promise<void> {
  const ping = servePing(bus, 'jt808-gateway', {
    onError: (error) => log.error({ err: error }, 'bus request failed'),
    isWorking: () => !lifecycle.isStopping,
  });
  lifecycle.onStop('ping', () => ping.stop());
  await bus.flush();
}
