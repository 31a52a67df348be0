import { randomInt, randomUUID } from 'node:crypto';
import { type Bus, DeviceCommandServer, type IncomingCommand, openBus } from '@fleet/bus';
import { createLogger, signMediaPath } from '@fleet/service-kit';
import { acknowledgeStream, connectRedis, type Redis, reserveStream, type StreamId } from '@fleet/storage';
import { loadConfig } from '../config.ts';
import { formatStreamName } from '../domain/stream-name.ts';
import { create, type MediaService } from '../service.ts';

/** A setting that `npm test` provides. */
export function requireEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run the tests by npm test`);
  return value;
}

export const signingSecret = 'a-signing-secret-for-tests';
const log = createLogger('test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

/** Waits for a condition; fails with its description. */
export async function waitFor<T>(
  description: string,
  condition: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<NonNullable<Exclude<T, false>>> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const value = await condition();
    if (value !== false && value !== null && value !== undefined) return value as NonNullable<Exclude<T, false>>;
    if (performance.now() > deadlineMs) throw new Error(`waited ${timeoutMs} ms in vain: ${description}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 15);
    });
  }
}

/** What tests look at in `GET /streams`. */
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

/** A media service with the backends of the test run, and what a test asks them. */
export interface MediaHarness {
  readonly service: MediaService;
  readonly redis: Redis;
  readonly bus: Bus;
  readonly podId: string;
  /** A stream of a random terminal that has been asked for. */
  requestStream(options?: { kind?: 'live' | 'history'; dataType?: number; channel?: number }): Promise<StreamId>;
  /** The stream as `GET /streams` shows it. */
  findStream(id: StreamId): Promise<StreamResponse | undefined>;
  streamUrl(id: StreamId, query?: Record<string, string>): string;
  stop(): Promise<void>;
}

/** A terminal number that no other test uses. */
export const randomImei = (): string => String(randomInt(100_000_000_000, 999_999_999_999));

/** Starts a service of its own; `env` adds settings. */
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

/** A second service beside that of a world. */
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

export const signStreamUrl = (service: MediaService, id: StreamId, query: Record<string, string> = {}): string =>
  signMediaPath(signingSecret, { ...id, baseUrl: `http://127.0.0.1:${service.httpPort}`, lifetimeMs: 60_000, query });

/** Does what device-api does before and after 0x9101. */
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

/** A gateway that says yes to every command, and remembers them; `onCommand` runs before it does. */
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
