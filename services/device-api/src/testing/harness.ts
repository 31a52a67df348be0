import { randomInt } from 'node:crypto';
import {
  type Bus,
  DeviceCommandServer,
  ensureStreams,
  findDevice,
  type IncomingCommand,
  type Outcome,
  openBus,
  queryStream,
  serve,
  servePing,
} from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import {
  claimDevice,
  claimStream,
  connectRedis,
  heartbeatGateway,
  type Redis,
  releaseStream,
  type StreamKind,
} from '@fleet/storage';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { loadConfig } from '../config.ts';
import { create, type DeviceApiService } from '../service.ts';

const silentLog = createLogger('test', process.env['TEST_LOG_LEVEL'] ?? 'silent');
const podId = 'test-gateway';

/** Response of an HTTP request. */
export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

type Handler = (command: IncomingCommand) => Promise<Outcome> | Outcome;

/** Returns a terminal number that no other test uses. */
export const randomImei = (): string => `1${String(randomInt(1e10)).padStart(11, '0')}`;

/** A bucket without a noticeable refill counts the commands of a device. */
export const slowBucket = { RATE_LIMIT_COMMANDS_PER_MINUTE: '1', RATE_LIMIT_COMMANDS_BURST: '1000' };

/** Returns the outcome of a command with a terminal general response. */
export const createOutcome = (commandMessageId: number, result: number | null = 0): Outcome => ({
  kind: 'answered',
  answer: { commandMessageId, commandSerialNo: 1, result, message: null },
});

/** A device-api with its own broker and state store, and fakes of the gateway and of media pods. */
export class DeviceApiHarness {
  readonly nats: ServerProcess;
  readonly redisServer: ServerProcess;
  readonly bus: Bus;
  readonly redis: Redis;
  readonly commands: IncomingCommand[] = [];
  readonly #handlers = new Map<string, Handler>();
  readonly #gateway: DeviceCommandServer;
  readonly #services: DeviceApiService[] = [];
  readonly #mediaPods = new Set<string>();
  #heartbeatTimer: NodeJS.Timeout | undefined;
  /** Recorded UTC offsets of the cameras' clocks, by canonical number. */
  readonly utcOffsets = new Map<string, string>();

  private constructor(nats: ServerProcess, redisServer: ServerProcess, bus: Bus, redis: Redis) {
    this.nats = nats;
    this.redisServer = redisServer;
    this.bus = bus;
    this.redis = redis;
    this.#gateway = new DeviceCommandServer(bus, {
      handler: async (command) => {
        this.commands.push(command);
        return (await this.#handlers.get(command.imei)?.(command)) ?? { kind: 'notConnected' };
      },
      onError: () => undefined,
    });
  }

  /** `media` false: no media server replies to pings. `platform`: a fake platform-api returns the device records. */
  static async open({
    media = true,
    platform = false,
  }: {
    media?: boolean;
    platform?: boolean;
  } = {}): Promise<DeviceApiHarness> {
    const nats = await (await ServerProcess.nats()).start();
    const redisServer = await (await ServerProcess.redis()).start();
    const bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'test', log: silentLog });
    const redis = await connectRedis(`redis://127.0.0.1:${redisServer.port}`, {
      name: 'test',
      onError: () => undefined,
    });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
    if (media) servePing(bus, 'jt1078-media', { onError: () => undefined });
    const harness = new DeviceApiHarness(nats, redisServer, bus, redis);
    if (platform) harness.#servePlatform();
    return harness;
  }

  #servePlatform(): void {
    serve(this.bus, findDevice, { queue: 'platform-api', onError: () => undefined }, async ({ imei }) => ({
      known: this.utcOffsets.has(imei),
      accountId: null,
      cameraUtcOffset: this.utcOffsets.get(imei) ?? '+08:00',
    }));
  }

  /** Starts a replica; limits are high unless the test sets others. */
  async startService(
    env: Record<string, string> = {},
  ): Promise<DeviceApiService & ApiClient & { readonly video: ApiClient; readonly adminBase: string }> {
    const service = await create(
      loadConfig({
        HTTP_PORT: '0',
        ADMIN_PORT: '0',
        VIDEO_HTTP_PORT: '0',
        NATS_URL: `nats://127.0.0.1:${this.nats.port}`,
        REDIS_URL: `redis://127.0.0.1:${this.redisServer.port}`,
        MONGODB_URL: testEnv('MONGODB_URL'),
        MEDIA_PUBLIC_HOST: 'media.fleet.example',
        RATE_LIMIT_HEALTH_BURST: '100000',
        RATE_LIMIT_COMMANDS_BURST: '100000',
        RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '100000',
        RATE_LIMIT_READS_BURST: '100000',
        ...env,
      }),
      { log: silentLog },
    );
    this.#services.push(service);
    return Object.assign(service, createClient(`http://127.0.0.1:${service.port}`), {
      video: createClient(`http://127.0.0.1:${service.videoPort}`, ''),
      adminBase: `http://127.0.0.1:${service.adminPort}`,
    });
  }

  /** Connects a device whose commands the handler replies to; it has a new number by default. */
  async connectDevice(handler: Handler, imei: string = randomImei()): Promise<string> {
    this.#handlers.set(imei, handler);
    this.#gateway.subscribe(imei);
    await heartbeatGateway(this.redis, podId);
    // As a gateway does: without heartbeats it would be considered dead after ten seconds.
    this.#heartbeatTimer ??= setInterval(() => {
      heartbeatGateway(this.redis, podId).catch(() => undefined);
    }, 2_000);
    await claimDevice(this.redis, imei, {
      sessionId: imei,
      podId,
      phone: imei,
      edition: '2019',
      onlineSinceMs: Date.now(),
      lastSeenMs: Date.now(),
      remoteAddress: '127.0.0.1',
    });
    await this.bus.nc.flush();
    return imei;
  }

  /** Returns the commands that a device received. */
  findCommands(imei: string): IncomingCommand[] {
    return this.commands.filter((command) => command.imei === imei);
  }

  /** Simulates a camera that connects to a media pod; returns how to end it. */
  async connectStream(
    imei: string,
    channel: number,
    url: string,
    pod = 'test-media',
    kind: StreamKind = 'live',
  ): Promise<{ leave(): Promise<unknown> }> {
    const id = { kind, imei, channel };
    if (!this.#mediaPods.has(pod)) {
      serve(this.bus, queryStream(pod), { queue: pod, onError: () => undefined }, async () => ({ isRunning: true }));
      this.#mediaPods.add(pod);
    }
    const claimed = await claimStream(this.redis, id, { podId: pod, url }, { acceptUnsolicited: true });
    return { leave: () => releaseStream(this.redis, id, claimed?.claim.generation ?? 0) };
  }

  /** Returns how many commands about a device were admitted by services of `slowBucket`. */
  async countAdmitted(imei: string): Promise<number> {
    const [count = '0'] = ((await this.redis.get(`rate-limit:command:${imei}`)) ?? '').split(':');
    return Math.round(Number(count));
  }

  /** Waits until a number of commands about a device were admitted by services of `slowBucket`. */
  async waitUntilAdmitted(imei: string, commands: number): Promise<void> {
    // Without a reply of Redis a process counts alone, after two seconds.
    const deadlineMs = performance.now() + 10_000;
    await waitFor(async () => performance.now() > deadlineMs || (await this.countAdmitted(imei)) >= commands);
  }

  /** The same, until they had time to read the device's streams. */
  async waitUntilChecked(imei: string, commands: number, services: readonly ApiClient[]): Promise<void> {
    await this.waitUntilAdmitted(imei, commands);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(services.map((service) => service.get(`/health/camera?imei=${imei}&channel=1`)));
      await this.bus.nc.flush();
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#heartbeatTimer);
    await Promise.all(this.#services.map((service) => service.stop()));
    await this.#gateway.stop();
    await this.bus.close();
    this.redis.destroy();
    await this.nats.remove();
    await this.redisServer.remove();
  }
}

/** HTTP client of the tests. */
export interface ApiClient {
  readonly base: string;
  get(path: string, init?: RequestInit): Promise<ApiResponse>;
}

function createClient(base: string, path = '/api/v1'): ApiClient {
  return {
    base,
    get: async (rest, init) => {
      const response = await fetch(base + path + rest, init);
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
      };
    },
  };
}
