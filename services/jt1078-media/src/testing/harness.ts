import { randomInt, randomUUID } from 'node:crypto';
import { type Bus, DeviceCommandServer, type IncomingCommand, openBus } from '@fleet/bus';
import { createLogger, type MediaPathSuffix, signMediaPath } from '@fleet/service-kit';
import {
  acknowledgeStream,
  connectRedis,
  type Redis,
  reserveStream,
  type StreamId,
  type StreamKind,
  type StreamRequest,
} from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { loadConfig } from '../config.ts';
import { formatStreamName } from '../domain/stream-name.ts';
import { create, type MediaService } from '../service.ts';

export const signingSecret = 'a-signing-secret-for-tests';
const log = createLogger('test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

/** Fields of `GET /streams` used by tests. */
interface StreamResponse extends StreamId {
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

/** Main or sub stream of a request, by default the main stream, and the address for another request. */
type RequestedType = Partial<Pick<StreamRequest, 'streamType' | 'returnsToSub' | 'address'>>;

/** Media service with the backends of the test run. */
export interface MediaHarness {
  readonly service: MediaService;
  readonly redis: Redis;
  readonly bus: Bus;
  readonly podId: string;
  /** Requests a stream of a random terminal. */
  requestStream(
    options?: { kind?: StreamKind; dataType?: number; channel?: number } & RequestedType,
  ): Promise<StreamId>;
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
  const redisUrl = env['REDIS_URL'] ?? testEnv('REDIS_URL');
  const redis = await connectRedis(redisUrl, { name: podId, onError: () => undefined });
  const bus = await openBus(testEnv('NATS_URL'), { name: podId, log });
  const service = await startService({ POD_ID: podId, REDIS_URL: redisUrl, ...env });
  return {
    service,
    redis,
    bus,
    podId,
    requestStream: async ({ kind = 'live', dataType = 0, channel = 1, ...type } = {}) => {
      const id: StreamId = { kind, imei: randomImei(), channel };
      await requestStream(redis, id, dataType, type);
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
      NATS_URL: testEnv('NATS_URL'),
      REDIS_URL: testEnv('REDIS_URL'),
      FFMPEG_PATH: testEnv('FFMPEG_PATH'),
      HTTP_PORT: '0',
      ADMIN_PORT: '0',
      MEDIA_LIVE_PORT: '0',
      MEDIA_HISTORY_PORT: '0',
      MEDIA_TALK_PORT: '0',
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
  more: RequestedType & Pick<StreamRequest, 'pace'> = {},
): Promise<void> {
  const requestId = randomUUID();
  await reserveStream(redis, id, {
    requestId,
    status: 'asking',
    dataType,
    streamType: 0,
    ...more,
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
