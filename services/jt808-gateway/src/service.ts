import { randomBytes } from 'node:crypto';
import {
  announce,
  type Bus,
  commandSent,
  commandSentSubject,
  DeviceCommandServer,
  ensureStreams,
  fenceSession,
  gatewayFenceSubject,
  listenFor,
  openBus,
  StoredPublisher,
  servePing,
} from '@fleet/bus';
import { Reassembler } from '@fleet/jt808';
import {
  adminRoutes,
  createApp,
  createLogger,
  Lifecycle,
  type Logger,
  listen,
  podId,
  type Running,
  shownConfig,
} from '@fleet/service-kit';
import { dialRedis, type Redis } from '@fleet/storage';
import { type Config, schema } from './config.ts';
import { AuthCodes } from './domain/auth-code.ts';
import { Devices } from './domain/device.ts';
import { LogLimit } from './domain/log-limit.ts';
import { FrameHandler } from './handlers/frames.ts';
import { LoginHandler } from './handlers/login.ts';
import { pollTransfers } from './handlers/transfers.ts';
import { GatewayMetrics } from './metrics.ts';
import { Listener } from './net/listener.ts';
import { CommandRecords } from './store/command-records.ts';
import { RedisGate } from './store/redis-gate.ts';
import { Registrations } from './store/registrations.ts';
import { TerminalProfiles } from './store/terminal-profiles.ts';
import { TelemetryWriter } from './telemetry/telemetry-writer.ts';
import { CommandRunner } from './use-cases/command-runner.ts';
import { drain } from './use-cases/drain.ts';
import { KnownDevices } from './use-cases/known-devices.ts';
import { Presence } from './use-cases/presence.ts';
import { Sessions } from './use-cases/sessions.ts';

/** A running gateway. */
export interface Gateway extends Running {
  readonly jt808Port: number;
  readonly httpPort: number;
  /** Name of this process in Redis and on the bus: new with every start, so that a restart does not revive the sessions of its predecessor. */
  readonly podId: string;
  /** At the stop, waits for commands in flight no longer. */
  hurry(): void;
}

/** Starts the service; several may run in one process. */
export async function create(config: Config, overrides: { log?: Logger } = {}): Promise<Gateway> {
  const log = overrides.log ?? createLogger('jt808-gateway', config.LOG_LEVEL);
  const name = `${podId(config.POD_ID).slice(0, 54)}-${randomBytes(4).toString('hex')}`;
  const lifecycle = new Lifecycle(log, { stepLimitMs: config.DRAIN_COMMANDS_MS + config.DRAIN_SPREAD_MS + 15_000 });
  log.info({ ...shownConfig(schema, config), podId: name }, 'starting');
  try {
    const metrics = new GatewayMetrics();
    let bus: Bus | undefined;
    const app = createApp();
    // Redis may be away: the gateway serves on, degraded.
    app.use(adminRoutes(lifecycle, metrics.registry, { message_broker: () => bus?.isUp() ?? false }));
    const http = await listen(app, { host: config.HOST, port: config.HTTP_PORT });
    lifecycle.onStop('http', () => http.close());

    const redisErrors = new LogLimit(1);
    const redis = dialRedis(config.REDIS_URL, {
      name,
      onError: (error) => {
        if (!lifecycle.isStopping && redisErrors.allows()) log.warn({ err: error }, 'Redis connection failed');
      },
    });
    lifecycle.onStop('redis', () => redis.destroy());
    const opened = await openBus(config.NATS_URL, { name, log });
    bus = opened;
    lifecycle.onStop('bus', () => opened.close());
    const makeStreams = async (): Promise<void> =>
      ensureStreams(await opened.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    await makeStreams();
    // A broker that came back empty has no streams: without them no report would ever be acknowledged again.
    opened.onReconnect(() => {
      makeStreams().catch((error: unknown) => log.warn({ err: error }, 'the streams could not be looked after'));
    });

    const hurry = new AbortController();
    const listener = await startGateway({
      config,
      log,
      name,
      lifecycle,
      metrics,
      bus: opened,
      redis,
      hurry: hurry.signal,
    });
    const ping = servePing(opened, 'jt808-gateway', {
      onError: (error) => log.error({ err: error }, 'a bus request failed'),
      isWorking: () => !lifecycle.isStopping,
    });
    lifecycle.onStop('ping', () => ping.stop());
    log.info({ jt808Port: listener.port, httpPort: http.port, podId: name }, 'started');
    return {
      jt808Port: listener.port,
      httpPort: http.port,
      podId: name,
      stop: () => lifecycle.stop(),
      hurry: () => hurry.abort(),
    };
  } catch (error) {
    await lifecycle.stop();
    throw error;
  }
}

interface Parts {
  readonly config: Config;
  readonly log: Logger;
  readonly name: string;
  readonly lifecycle: Lifecycle;
  readonly metrics: GatewayMetrics;
  readonly bus: Bus;
  readonly redis: Redis;
  /** Aborted when the stop waits for commands no longer. */
  readonly hurry: AbortSignal;
}

/** Wires what stands between the sockets and the bus, and listens. */
async function startGateway({ config, log, name, lifecycle, metrics, bus, redis, hurry }: Parts): Promise<Listener> {
  const devices = new Devices();
  const gate = new RedisGate(redis);
  const registrations = new Registrations(redis, gate);
  const records = new CommandRecords(redis, gate);
  const refusals = new LogLimit(1);
  const publisher = new StoredPublisher(bus, {
    maxBytes: config.STORE_BUFFER_BYTES,
    onRefused: (detail) => {
      if (refusals.allows()) log.warn({ detail }, 'JetStream refused a message');
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
    records,
    perTerminal: config.COMMANDS_PER_TERMINAL,
    wakeUpIntervalMs: config.WAKE_UP_INTERVAL_MS,
    onSent: (sent) => announce(bus, commandSent, sent, commandSentSubject(sent.imei)),
    metrics,
    log,
  });
  const commandServer = new DeviceCommandServer(bus, {
    handler: (command) => runner.run(command),
    onError: (error, detail) => log.error({ err: error, detail }, 'a device command failed'),
    onTaken: (imei) => sessions.takenOver(imei),
  });
  lifecycle.onStop('commands', async () => {
    await commandServer.stop();
    runner.stop();
  });
  const sessions: Sessions = new Sessions({
    devices,
    partitions: config.TELEMETRY_PARTITIONS,
    presence: () => presence,
    runner,
    commandServer,
    metrics,
    log,
  });
  const presence = new Presence({
    redis,
    gate,
    bus,
    podId: name,
    devices,
    registrations,
    metrics,
    log,
    onSuperseded: (session) => sessions.supersede(session),
  });
  presence.start();
  lifecycle.onStop('presence', () => presence.stop());
  const fences = listenFor(
    bus,
    fenceSession,
    (error) => log.error({ err: error }, 'a fence could not be read'),
    ({ imei, sessionId }) => sessions.fence(imei, sessionId),
    gatewayFenceSubject(name),
  );
  lifecycle.onStop('fences', () => fences.stop());

  const login = new LoginHandler({
    codes: new AuthCodes(config.GATEWAY_AUTH_SECRET),
    known: new KnownDevices(bus, log, config.REGISTRATION_POLICY),
    acceptsUnregistered: config.UNREGISTERED_TERMINALS === 'accept',
    registrations,
    records,
    sessions,
    metrics,
    log,
  });
  const profiles = new TerminalProfiles(redis, gate, (error) => {
    metrics.stateFailures.inc({ operation: 'saveProfile' });
    log.debug({ err: error, operation: 'saveProfile' }, 'Redis operation failed');
  });
  const reassembler = new Reassembler({ now: () => performance.now() });
  const frames = new FrameHandler({
    login,
    telemetry,
    events: publisher,
    profiles,
    reassembler,
    metrics,
    log,
    logLimit: new LogLimit(20),
    unknownResult: config.UNKNOWN_MESSAGE_RESULT,
    maxEventBytes: eventLimit(bus, log),
    zeroSerial: new Set((config.REPLY_SERIAL_ZERO ?? '').split(',').filter((imei) => imei !== '')),
  });
  const transfers = setInterval(() => pollTransfers(reassembler, devices, metrics), 1_000);
  lifecycle.onStop('transfers', () => clearInterval(transfers));
  const faults = new LogLimit(5);
  const floods = new LogLimit(5);
  const listener = new Listener({
    host: config.HOST,
    port: config.JT808_PORT,
    loginTimeoutMs: config.LOGIN_TIMEOUT_MS,
    idleTimeoutMs: config.SESSION_IDLE_SECONDS * 1000,
    connectionsPerAddress: config.CONNECTIONS_PER_ADDRESS,
    writeBufferLimitBytes: config.WRITE_BUFFER_LIMIT_BYTES,
    ignoreChecksum: config.IGNORE_CHECKSUM,
    trustActualLength: config.TRUST_ACTUAL_LENGTH,
    metrics,
    onFrame: (connection, frame) => frames.take(connection, frame),
    onClose: (connection) => sessions.leave(connection),
    onGarbage: ({ remoteAddress, session, splitter }) => {
      if (floods.allows())
        log.warn(
          { remoteAddress, imei: session?.device.imei, dropped: splitter.dropped },
          'a connection that sends nothing but garbage is closed',
        );
    },
    onError: (connection, error) => {
      if (faults.allows()) log.error({ err: error, imei: connection.session?.device.imei }, 'a frame failed');
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
      commandsMs: config.DRAIN_COMMANDS_MS,
      spreadMs: config.DRAIN_SPREAD_MS,
      hurry,
      log,
    }),
  );
  return listener;
}

/** A terminal's split messages are joined up to 8 MiB with their overhead; a broker with its own default takes 1 MiB. */
const ampleMessageBytes = 8_000_000;
const eventHeadBytes = 4_096;

/** Largest body that the broker takes as one message. */
function eventLimit(bus: Bus, log: Logger): number {
  const maxMessageBytes = bus.nc.info?.max_payload ?? 1_048_576;
  if (maxMessageBytes < ampleMessageBytes)
    log.warn({ maxMessageBytes }, 'larger pictures are refused: max_payload of the broker should be 8MB');
  return maxMessageBytes - eventHeadBytes;
}
