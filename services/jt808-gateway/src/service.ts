import { randomBytes } from 'node:crypto';
import {
  type Bus,
  commandSent,
  commandSentSubject,
  DeviceCommandServer,
  ensureStreams,
  fenceSession,
  gatewayFenceSubject,
  JetStreamPublisher,
  openBus,
  publish,
  servePing,
  subscribe,
} from '@fleet/bus';
import { Reassembler } from '@fleet/jt808';
import {
  createAdminRouter,
  createApp,
  createLogger,
  getPodId,
  Lifecycle,
  type Logger,
  listen,
  type Running,
  redactConfig,
} from '@fleet/service-kit';
import { createRedisClient, type Redis } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import { AuthCodes } from './domain/auth-codes.ts';
import { Devices } from './domain/device.ts';
import { LogThrottle } from './domain/log-throttle.ts';
import { FrameHandler } from './handlers/frame-handler.ts';
import { LoginHandler } from './handlers/login-handler.ts';
import { requestMissingSubpackages } from './handlers/retransmission.ts';
import { GatewayMetrics } from './metrics.ts';
import { Listener } from './net/listener.ts';
import { CommandRecords } from './store/command-records.ts';
import { RedisBreaker } from './store/redis-breaker.ts';
import { Registrations } from './store/registrations.ts';
import { TerminalProfiles } from './store/terminal-profiles.ts';
import { TelemetryWriter } from './telemetry/telemetry-writer.ts';
import { CommandRunner } from './use-cases/command-runner.ts';
import { DeviceAllowlist } from './use-cases/device-allowlist.ts';
import { drain } from './use-cases/drain.ts';
import { SessionPublisher } from './use-cases/session-publisher.ts';
import { Sessions } from './use-cases/sessions.ts';

/** A running gateway. */
export interface Gateway extends Running {
  readonly jt808Port: number;
  readonly httpPort: number;
  /**
   * Name of this process in Redis and on the bus. It is new with every start, so a restart does not revive the sessions
   * of its predecessor.
   */
  readonly podId: string;
  /** Makes a shutdown in progress stop waiting for commands in flight. */
  forceStop(): void;
}

/** Starts the service. Several instances may run in one process. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<Gateway> {
  const log = overrides.log ?? createLogger('jt808-gateway', config.LOG_LEVEL);
  const name = `${getPodId(config.POD_ID).slice(0, 54)}-${randomBytes(4).toString('hex')}`;
  const lifecycle = new Lifecycle(log, { stepTimeoutMs: config.DRAIN_COMMANDS_MS + config.DRAIN_SPREAD_MS + 15_000 });
  log.info({ ...redactConfig(schema, config), podId: name }, 'starting');
  try {
    const metrics = new GatewayMetrics();
    let bus: Bus | undefined;
    const app = createApp();
    // Redis may be unavailable: the gateway then runs degraded.
    app.use(createAdminRouter(lifecycle, metrics.registry, { message_broker: () => bus?.isUp() ?? false }));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    lifecycle.onStop('http', () => http.close());

    const redisLogThrottle = new LogThrottle(1);
    const redis = createRedisClient(config.REDIS_URL, {
      name,
      onError: (error) => {
        if (!lifecycle.isStopping && redisLogThrottle.tryAcquire()) log.warn({ err: error }, 'Redis connection failed');
      },
    });
    lifecycle.onStop('redis', () => redis.destroy());
    const connectedBus = await openBus(config.NATS_URL, { name, log });
    bus = connectedBus;
    lifecycle.onStop('bus', () => connectedBus.close());
    const createStreams = async (): Promise<void> =>
      ensureStreams(await connectedBus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    await createStreams();
    // A broker that restarted empty has no streams. Without them no report would be acknowledged again.
    connectedBus.onReconnect(() => {
      createStreams().catch((error: unknown) => log.warn({ err: error }, 'could not restore the streams'));
    });

    const drainAbort = new AbortController();
    const listener = await startGateway({
      config,
      log,
      name,
      lifecycle,
      metrics,
      bus: connectedBus,
      redis,
      abortSignal: drainAbort.signal,
    });
    const ping = servePing(connectedBus, 'jt808-gateway', {
      onError: (error) => log.error({ err: error }, 'bus request failed'),
      isWorking: () => !lifecycle.isStopping,
    });
    lifecycle.onStop('ping', () => ping.stop());
    await connectedBus.flush();
    log.info({ jt808Port: listener.port, httpPort: http.port, podId: name }, 'started');
    return {
      jt808Port: listener.port,
      httpPort: http.port,
      podId: name,
      stop: () => lifecycle.stop(),
      forceStop: () => drainAbort.abort(),
    };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

interface Deps {
  readonly config: Config;
  readonly log: Logger;
  readonly name: string;
  readonly lifecycle: Lifecycle;
  readonly metrics: GatewayMetrics;
  readonly bus: Bus;
  readonly redis: Redis;
  /** Aborted when the shutdown must stop waiting for commands. */
  readonly abortSignal: AbortSignal;
}

/** Creates the components between the sockets and the bus, and starts the listener. */
async function startGateway({
  config,
  log,
  name,
  lifecycle,
  metrics,
  bus,
  redis,
  abortSignal,
}: Deps): Promise<Listener> {
  const devices = new Devices();
  const breaker = new RedisBreaker(redis);
  const registrations = new Registrations(redis, breaker);
  const commandRecords = new CommandRecords(redis, breaker);
  const refusalLogThrottle = new LogThrottle(1);
  const publisher = new JetStreamPublisher(bus, {
    maxBytes: config.STORE_BUFFER_BYTES,
    onRejected: (detail) => {
      if (refusalLogThrottle.tryAcquire()) log.warn({ detail }, 'JetStream rejected a message');
    },
  });
  lifecycle.onStop('publisher', async () => {
    await publisher.flush(5_000);
    publisher.stop();
  });
  const telemetry = new TelemetryWriter({
    publish: (subject, payload, done) => publisher.publish(subject, payload, done),
    partitions: config.TELEMETRY_PARTITIONS,
    metrics,
  });
  const runner = new CommandRunner({
    devices,
    records: commandRecords,
    maxPerTerminal: config.COMMANDS_PER_TERMINAL,
    wakeUpIntervalMs: config.WAKE_UP_INTERVAL_MS,
    onSent: (sent) => publish(bus, commandSent, sent, commandSentSubject(sent.imei)),
    metrics,
    log,
  });
  const commandServer = new DeviceCommandServer(bus, {
    handler: (command) => runner.run(command),
    onError: (error, detail) => log.error({ err: error, detail }, 'device command failed'),
    onTakenOver: (imei) => sessions.onTakenOver(imei),
  });
  lifecycle.onStop('commands', async () => {
    await commandServer.stop();
    runner.stop();
  });
  const sessions: Sessions = new Sessions({
    devices,
    partitions: config.TELEMETRY_PARTITIONS,
    sessionPublisher: () => sessionPublisher,
    runner,
    commandServer,
    metrics,
    log,
  });
  const sessionPublisher = new SessionPublisher({
    redis,
    breaker,
    bus,
    podId: name,
    devices,
    registrations,
    metrics,
    log,
    onSuperseded: (session) => sessions.onSuperseded(session),
  });
  sessionPublisher.start();
  lifecycle.onStop('presence', () => sessionPublisher.stop());
  const fenceSubscription = subscribe(
    bus,
    fenceSession,
    (error) => log.error({ err: error }, 'could not read a fence event'),
    ({ imei, sessionId }) => sessions.onFence(imei, sessionId),
    gatewayFenceSubject(name),
  );
  lifecycle.onStop('fences', () => fenceSubscription.stop());

  const loginHandler = new LoginHandler({
    codes: new AuthCodes(config.GATEWAY_AUTH_SECRET),
    allowlist: new DeviceAllowlist(bus, log, config.REGISTRATION_POLICY),
    acceptUnregistered: config.UNREGISTERED_TERMINALS === 'accept',
    registrations,
    records: commandRecords,
    sessions,
    metrics,
    log,
  });
  const profiles = new TerminalProfiles(redis, breaker, (error) => {
    metrics.redisFailures.inc({ operation: 'saveProfile' });
    log.debug({ err: error, operation: 'saveProfile' }, 'Redis operation failed');
  });
  const reassembler = new Reassembler({ now: () => performance.now() });
  const frameHandler = new FrameHandler({
    login: loginHandler,
    telemetry,
    events: publisher,
    profiles,
    reassembler,
    metrics,
    log,
    logThrottle: new LogThrottle(20),
    unknownMessageResult: config.UNKNOWN_MESSAGE_RESULT,
    maxEventBytes: getMaxEventBytes(bus, log),
    zeroSerialTerminals: new Set((config.REPLY_SERIAL_ZERO ?? '').split(',').filter((imei) => imei !== '')),
  });
  const retransmissionTimer = setInterval(() => requestMissingSubpackages(reassembler, devices, metrics), 1_000);
  lifecycle.onStop('transfers', () => clearInterval(retransmissionTimer));
  const errorLogThrottle = new LogThrottle(5);
  const floodLogThrottle = new LogThrottle(5);
  const listener = new Listener({
    host: config.HOST,
    port: config.JT808_PORT,
    loginTimeoutMs: config.LOGIN_TIMEOUT_MS,
    idleTimeoutMs: config.SESSION_IDLE_SECONDS * 1000,
    maxConnectionsPerAddress: config.CONNECTIONS_PER_ADDRESS,
    writeBufferLimitBytes: config.WRITE_BUFFER_LIMIT_BYTES,
    ignoreChecksum: config.IGNORE_CHECKSUM,
    trustActualLength: config.TRUST_ACTUAL_LENGTH,
    metrics,
    onFrame: (connection, frame) => frameHandler.handle(connection, frame),
    onClose: (connection) => sessions.end(connection),
    onGarbage: ({ remoteAddress, session, splitter }) => {
      if (floodLogThrottle.tryAcquire())
        log.warn(
          { remoteAddress, imei: session?.device.imei, dropped: splitter.dropped },
          'closing a connection that sends only garbage',
        );
    },
    onError: (connection, error) => {
      if (errorLogThrottle.tryAcquire())
        log.error({ err: error, imei: connection.session?.device.imei }, 'could not handle a frame');
    },
  });
  await listener.start();
  lifecycle.onStop('listener', () => listener.stop());
  lifecycle.onStop('drain', () =>
    drain({
      bus,
      devices,
      listener,
      runner,
      commandServer,
      commandsTimeoutMs: config.DRAIN_COMMANDS_MS,
      spreadMs: config.DRAIN_SPREAD_MS,
      abortSignal,
      log,
    }),
  );
  return listener;
}

/** Split messages are joined up to 8 MiB including overhead. The default limit of a broker is 1 MiB. */
const recommendedMessageBytes = 8_000_000;
const eventHeaderBytes = 4_096;

/** Returns the largest body that the broker accepts in one message. */
function getMaxEventBytes(bus: Bus, log: Logger): number {
  const maxMessageBytes = bus.nc.info?.max_payload ?? 1_048_576;
  if (maxMessageBytes < recommendedMessageBytes)
    log.warn({ maxMessageBytes }, 'larger pictures will be refused: set max_payload of the broker to 8MB');
  return maxMessageBytes - eventHeaderBytes;
}
