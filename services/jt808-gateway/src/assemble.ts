import {
  type Bus,
  commandSent,
  commandSentSubject,
  DeviceCommandServer,
  fenceSession,
  gatewayFenceSubject,
  JetStreamPublisher,
  publish,
  subscribe,
} from '@fleet/bus';
import { Reassembler } from '@fleet/jt808';
import { type Lifecycle, type Logger, parseProxyNetworks } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Config } from './config.ts';
import { AuthCodes } from './domain/auth-codes.ts';
import { Devices } from './domain/device.ts';
import { LogThrottle } from './domain/log-throttle.ts';
import { FrameHandler } from './handlers/frame-handler.ts';
import { LoginHandler } from './handlers/login-handler.ts';
import { MessageHandler } from './handlers/message-handler.ts';
import { ResponseHandler } from './handlers/response-handler.ts';
import { requestMissingSubpackages } from './handlers/retransmission.ts';
import { SplitMessages } from './handlers/split-messages.ts';
import type { GatewayMetrics } from './metrics.ts';
import { Listener } from './net/listener.ts';
import { CommandRecords } from './store/command-records.ts';
import { RedisBreaker } from './store/redis-breaker.ts';
import { Registrations } from './store/registrations.ts';
import { TerminalProfiles } from './store/terminal-profiles.ts';
import { EventWriter, getMaxEventBytes } from './telemetry/event-writer.ts';
import { TelemetryWriter } from './telemetry/telemetry-writer.ts';
import { CommandRunner } from './use-cases/command-runner.ts';
import { DeviceAllowlist } from './use-cases/device-allowlist.ts';
import { drain } from './use-cases/drain.ts';
import { SessionPublisher } from './use-cases/session-publisher.ts';
import { Sessions } from './use-cases/sessions.ts';

const retransmissionIntervalMs = 1_000;
const publisherFlushTimeoutMs = 5_000;

/** Settings and connected backends of a gateway. */
interface Context {
  readonly config: Config;
  readonly log: Logger;
  /** Name of this process in Redis and on the bus. */
  readonly podId: string;
  readonly lifecycle: Lifecycle;
  readonly metrics: GatewayMetrics;
  readonly bus: Bus;
  readonly redis: Redis;
  /** Aborted when the shutdown must stop waiting for commands. */
  readonly drainAbortSignal: AbortSignal;
}

/** State of the gateway in memory and in Redis, shared by its parts. */
interface State {
  readonly devices: Devices;
  readonly breaker: RedisBreaker;
  readonly registrations: Registrations;
  readonly commandRecords: CommandRecords;
  readonly profiles: TerminalProfiles;
}

/** Sessions of terminals, and the commands that arrive for them. */
interface SessionParts {
  readonly sessions: Sessions;
  readonly runner: CommandRunner;
  readonly commandServer: DeviceCommandServer;
}

/**
 * Starts the parts between the bus and the sockets, from the bus to the sockets. The lifecycle stops them in reverse
 * order: drain (wait for commands, disconnect the terminals), listener, retransmissions, fences, session claims,
 * commands, and last the publisher, which still confirms what the terminals have sent.
 */
export async function assemble(context: Context): Promise<Listener> {
  const state = createState(context);
  const publisher = startPublisher(context);
  const sessionParts = startSessions(context, state);
  const frameHandler = startFrameHandler(context, state, publisher, sessionParts.sessions);
  const listener = await startListener(context, frameHandler, sessionParts.sessions);
  registerDrain(context, { ...sessionParts, devices: state.devices, listener });
  return listener;
}

function createState({ redis, metrics, log }: Context): State {
  const breaker = new RedisBreaker(redis);
  return {
    devices: new Devices(),
    breaker,
    registrations: new Registrations(redis, breaker),
    commandRecords: new CommandRecords(redis, breaker),
    profiles: new TerminalProfiles(redis, breaker, (error) => {
      metrics.redisFailures.inc({ operation: 'saveProfile' });
      log.debug({ err: error, operation: 'saveProfile' }, 'Redis operation failed');
    }),
  };
}

/** Creates the publisher of uplink messages; at its stop it waits for the confirmations of JetStream. */
function startPublisher({ bus, config, lifecycle, log }: Context): JetStreamPublisher {
  const logThrottle = new LogThrottle(1);
  const publisher = new JetStreamPublisher(bus, {
    maxBytes: config.STORE_BUFFER_BYTES,
    beginsTraces: true,
    onRejected: (detail) => {
      if (logThrottle.tryAcquire()) log.warn({ detail }, 'JetStream rejected a message');
    },
  });
  lifecycle.onStop('publisher', async () => {
    await publisher.flush(publisherFlushTimeoutMs);
    publisher.stop();
  });
  return publisher;
}

/** Starts the commands from the bus, the claims of sessions in Redis, and the fencing by other pods. */
function startSessions(context: Context, state: State): SessionParts {
  const { bus, config, lifecycle, log, metrics, podId, redis } = context;
  const { devices, breaker, registrations } = state;
  const runner = createCommandRunner(context, state);
  const commandServer = new DeviceCommandServer(bus, {
    handler: (command) => runner.run(command),
    onError: (error, detail) => log.error({ err: error, detail }, 'device command failed'),
    onTakenOver: (imei) => sessions.onTakenOver(imei),
  });
  lifecycle.onStop('commands', async () => {
    await commandServer.stop();
    runner.stop();
  });
  const sessionPublisher = new SessionPublisher({
    redis,
    breaker,
    bus,
    podId,
    devices,
    registrations,
    metrics,
    log,
    onSuperseded: (session) => sessions.onSuperseded(session),
  });
  sessionPublisher.start();
  lifecycle.onStop('session claims', () => sessionPublisher.stop());
  const partitions = config.TELEMETRY_PARTITIONS;
  const sessions = new Sessions({ devices, partitions, sessionPublisher, runner, commandServer, metrics, log });
  const fenceSubscription = subscribe(
    bus,
    fenceSession,
    (error) => log.error({ err: error }, 'could not read a fence event'),
    ({ imei, sessionId }) => sessions.onFence(imei, sessionId),
    gatewayFenceSubject(podId),
  );
  lifecycle.onStop('fences', () => fenceSubscription.stop());
  return { sessions, runner, commandServer };
}

const createCommandRunner = ({ bus, config, metrics, log }: Context, { devices, commandRecords }: State) =>
  new CommandRunner({
    devices,
    records: commandRecords,
    maxPerTerminal: config.COMMANDS_PER_TERMINAL,
    wakeUpIntervalMs: config.WAKE_UP_INTERVAL_MS,
    onSent: (sent) => publish(bus, commandSent, sent, commandSentSubject(sent.imei)),
    metrics,
    log,
  });

/** Creates the handler of frames, and requests the missing parts of split messages from now on. */
function startFrameHandler(
  context: Context,
  state: State,
  publisher: JetStreamPublisher,
  sessions: Sessions,
): FrameHandler {
  const { bus, config, lifecycle, log, metrics } = context;
  const reassembler = new Reassembler({ now: () => performance.now() });
  const retransmissionTimer = setInterval(
    () => requestMissingSubpackages(reassembler, state.devices, metrics),
    retransmissionIntervalMs,
  );
  lifecycle.onStop('retransmissions', () => clearInterval(retransmissionTimer));
  const splitMessages = new SplitMessages(reassembler);
  const events = new EventWriter({ publisher, maxBytes: getMaxEventBytes(bus, log), metrics });
  const telemetry = new TelemetryWriter({
    publish: (subject, payload, done) => publisher.publish(subject, payload, done),
    partitions: config.TELEMETRY_PARTITIONS,
    metrics,
  });
  const login = createLoginHandler(context, state, sessions, events);
  const messages = new MessageHandler({
    login,
    responses: createResponseHandler(context, state),
    splitMessages,
    telemetry,
    events,
    metrics,
    unknownMessageResult: config.UNKNOWN_MESSAGE_RESULT,
  });
  return new FrameHandler({ login, messages, splitMessages, telemetry, metrics });
}

const createLoginHandler = (
  { bus, config, metrics, log }: Context,
  { registrations, commandRecords, profiles }: State,
  sessions: Sessions,
  events: EventWriter,
): LoginHandler =>
  new LoginHandler({
    codes: new AuthCodes(config.GATEWAY_AUTH_SECRET),
    allowlist: new DeviceAllowlist(bus, log, config.REGISTRATION_POLICY),
    acceptUnregistered: config.UNREGISTERED_TERMINALS === 'accept',
    registrations,
    records: commandRecords,
    profiles,
    sessions,
    events,
    metrics,
    log,
  });

const createResponseHandler = ({ config, metrics, log }: Context, { profiles }: State): ResponseHandler =>
  new ResponseHandler({
    profiles,
    metrics,
    log,
    logThrottle: new LogThrottle(20),
    zeroSerialTerminals: new Set((config.REPLY_SERIAL_ZERO ?? '').split(',').filter((imei) => imei !== '')),
  });

/** Accepts connections of terminals. */
async function startListener(
  { config, lifecycle, log, metrics }: Context,
  frameHandler: FrameHandler,
  sessions: Sessions,
): Promise<Listener> {
  const errorLogThrottle = new LogThrottle(5);
  const floodLogThrottle = new LogThrottle(5);
  const listener = new Listener({
    host: config.HOST,
    port: config.JT808_PORT,
    proxyNetworks: parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS),
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
          'closing a connection that sends no valid frame',
        );
    },
    onError: (connection, error) => {
      if (errorLogThrottle.tryAcquire())
        log.error({ err: error, imei: connection.session?.device.imei }, 'could not handle a frame');
    },
  });
  await listener.start();
  lifecycle.onStop('listener', () => listener.stop());
  return listener;
}

/** Registers the first step of the stop: terminals are disconnected after their commands have ended. */
function registerDrain(
  { bus, config, lifecycle, log, drainAbortSignal }: Context,
  {
    devices,
    listener,
    runner,
    commandServer,
  }: SessionParts & { readonly devices: Devices; readonly listener: Listener },
): void {
  lifecycle.onStop('drain', () =>
    drain({
      bus,
      devices,
      listener,
      runner,
      commandServer,
      commandsTimeoutMs: config.DRAIN_COMMANDS_MS,
      spreadMs: config.DRAIN_SPREAD_MS,
      abortSignal: drainAbortSignal,
      log,
    }),
  );
}
