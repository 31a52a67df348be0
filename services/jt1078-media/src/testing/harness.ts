import { randomInt, randomUUID } from 'node:crypto';
import { type Bus, DeviceCommandServer, type IncomingCommand, openBus } from '@fleet/bus';
import { createLogger, type MediaPathSuffix, signMediaPath } from '@fleet/service-kit';
import { acknowledgeStream, connectRedis, type Redis, reserveStream, type StreamId } from '@fleet/storage';
import { loadConfig } from '../config.ts';
import { formatStreamName } from '../domain/stream-name.ts';
import { create, type MediaService } from '../service.ts';

/** Returns an environment variable that `npm test` sets. */
export function requireEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}

export const signingSecret = 'a-signing-secret-for-tests';
const log = createLogger('test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

/** Waits for a condition and throws with its description on timeout. */
export async function waitFor<T>(
  description: string,
  condition: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > deadlineMs) throw new Error(`not within ${timeoutMs} ms: ${description}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 15);
    });
  }
}

/** Fields of `GET /streams` used by tests. */
export interface StreamResponse extends StreamId {
  viewers: number;
  isHeld: boolean;
  isPaused: boolean;
  transport: string | null;
  remote: string | null;
  packets: number;
  reconnects: number;
  lostPackets: number;
  droppedTags: number;
  videoFrames: number;
}

/** Media service with the backends of the test run. */
export interface MediaHarness {
  readonly service: MediaService;
  readonly redis: Redis;
  readonly bus: Bus;
  readonly podId: string;
  /** Requests a stream of a random terminal. */
  requestStream(options?: { kind?: 'live' | 'history'; dataType?: number; channel?: number }): Promise<StreamId>;
  /** Returns the stream as listed by `GET /streams`. */
  findStream(id: StreamId): Promise<StreamResponse | undefined>;
  streamUrl(id: StreamId, query?: Record<string, string>): string;
  stop(): Promise<void>;
}

/** Returns a terminal number that no other test uses. */
export const randomImei = (): string => String(randomInt(100_000_000_000, 999_999_999_999));

/** Starts a dedicated service; `env` adds settings. */
export async function startHarness(env: Record<string, string> = {}): Promise<MediaHarness> {
  const podId = `test-${randomUUID()}`;
  const redisUrl = env['REDIS_URL'] ?? requireEnv('REDIS_URL');
  const redis = await connectRedis(redisUrl, { name: podId, onError: () => undefined });
  const bus = await openBus(requireEnv('NATS_URL'), { name: podId, log });
  const service = await startService({ POD_ID: podId, REDIS_URL: redisUrl, ...env });
  return {
    service,
    redis,
    bus,
    podId,
    requestStream: async ({ kind = 'live', dataType = 0, channel = 1 } = {}) => {
      const id: StreamId = { kind, imei: randomImei(), channel };
      await requestStream(redis, id, dataType);
      return id;
    },
    findStream: async (id) => {
      const response = await fetch(`http://127.0.0.1:${service.httpPort}/streams`);
      const { streams } = (await response.json()) as { streams: StreamResponse[] };
      return streams.find((stream) => formatStreamName(stream) === formatStreamName(id));
    },
    streamUrl: (id, query = {}) => signStreamUrl(service, id, query),
    stop: async () => {
      await service.stop();
      redis.destroy();
      await bus.close();
    },
  };
}

/** Starts a second service besides that of a harness. */
export const startService = (env: Record<string, string>): Promise<MediaService> =>
  create(
    loadConfig({
      NATS_URL: requireEnv('NATS_URL'),
      REDIS_URL: requireEnv('REDIS_URL'),
      FFMPEG_PATH: requireEnv('FFMPEG_PATH'),
      HTTP_PORT: '0',
      MEDIA_LIVE_PORT: '0',
      MEDIA_HISTORY_PORT: '0',
      MEDIA_SIGNING_SECRET: signingSecret,
      LOG_LEVEL: 'silent',
      ...env,
    }),
    { log },
  );

export const signStreamUrl = (
  service: MediaService,
  id: StreamId,
  query: Record<string, string> = {},
  suffix?: MediaPathSuffix,
): string =>
  signMediaPath(signingSecret, {
    ...id,
    baseUrl: `http://127.0.0.1:${service.httpPort}`,
    lifetimeMs: 60_000,
    query,
    ...(suffix === undefined ? {} : { suffix }),
  });

/** Reserves and acknowledges a stream, as device-api does before and after 0x9101. */
export async function requestStream(
  redis: Redis,
  id: StreamId,
  dataType = 0,
  pace?: 'device' | 'arrival',
): Promise<void> {
  const requestId = randomUUID();
  await reserveStream(redis, id, {
    requestId,
    status: 'asking',
    dataType,
    streamType: 0,
    ...(pace === undefined ? {} : { pace }),
    isForeign: false,
    requestedAtMs: Date.now(),
    correlationId: requestId,
  });
  await acknowledgeStream(redis, id, requestId);
}

/** Fake gateway that acknowledges and records every command, after awaiting `onCommand`. */
export function fakeGateway(
  bus: Bus,
  imei: string,
  onCommand: (command: IncomingCommand) => Promise<void> = () => Promise.resolve(),
): { commands: IncomingCommand[]; stop(): Promise<void> } {
  const commands: IncomingCommand[] = [];
  const server = new DeviceCommandServer(bus, {
    handler: async (command) => {
      commands.push(command);
      await onCommand(command);
      return {
        kind: 'answered',
        answer: { commandMessageId: 0x9102, commandSerialNo: commands.length, result: 0, message: null },
      };
    },
    onError: (error) => {
      throw error;
    },
  });
  server.subscribe(imei);
  return { commands, stop: async () => server.stop() };
}
