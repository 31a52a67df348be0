import { randomBytes } from 'node:crypto';
import {
  type Bus,
  type DeviceCommand,
  DeviceCommandClient,
  type DeviceCommandOf,
  type Outcome,
  openBus,
} from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { connectRedis, type Redis, readDevice } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { loadConfig } from '../config.ts';
import { create, type Gateway } from '../service.ts';

/** Addresses of the servers used by the tests. */
const servers = {
  get nats(): string {
    return testEnv('NATS_URL');
  },
  get redis(): string {
    return testEnv('REDIS_URL');
  },
};

const silentLog = createLogger('test', 'silent');

/** Returns the environment of a gateway on free ports. */
const gatewayEnv = (overrides: Record<string, string> = {}): Record<string, string> => ({
  NATS_URL: servers.nats,
  REDIS_URL: servers.redis,
  ADMIN_PORT: '0',
  JT808_PORT: '0',
  GATEWAY_AUTH_SECRET: 'a secret for tests alone',
  LOG_LEVEL: 'silent',
  DRAIN_SPREAD_MS: '0',
  DRAIN_COMMANDS_MS: '2000',
  ...overrides,
});

/** Starts a gateway in this process. */
export const startGateway = (overrides: Record<string, string> = {}): Promise<Gateway> =>
  create(loadConfig(gatewayEnv(overrides)), { log: silentLog });

/** Client of the gateway, in the role of device-api. */
export class Caller {
  readonly bus: Bus;
  readonly redis: Redis;
  readonly commandClient: DeviceCommandClient;

  constructor(bus: Bus, redis: Redis) {
    this.bus = bus;
    this.redis = redis;
    this.commandClient = new DeviceCommandClient(bus);
  }

  static async open(natsUrl = servers.nats): Promise<Caller> {
    const bus = await openBus(natsUrl, { name: 'test-caller', log: silentLog });
    const redis = await connectRedis(servers.redis, { name: 'test-caller', onError: () => undefined });
    return new Caller(bus, redis);
  }

  sendCommand(imei: string, command: DeviceCommand, timeoutMs = 10_000): Promise<Outcome> {
    const isClaimed = async (): Promise<boolean> => (await readDevice(this.redis, imei)) !== null;
    return this.#send(imei, command, timeoutMs, isClaimed);
  }

  /** Sends a command while Redis is unavailable: a terminal that no gateway holds yet is waited for. */
  sendCommandWithoutRedis(imei: string, command: DeviceCommand): Promise<Outcome> {
    return this.#send(imei, command, 10_000, () => Promise.reject(new Error('Redis is unavailable')));
  }

  #send(imei: string, command: DeviceCommand, timeoutMs: number, isClaimed: () => Promise<boolean>): Promise<Outcome> {
    const correlationId = randomBytes(4).toString('hex');
    return this.commandClient.send({ imei, command, correlationId, timeoutMs, isClaimed });
  }

  async close(): Promise<void> {
    this.commandClient.stop();
    await this.bus.close();
    this.redis.destroy();
  }
}

export const startLive: DeviceCommandOf<'startLive'> = {
  kind: 'startLive',
  server: '127.0.0.1',
  tcpPort: 7078,
  udpPort: 7078,
  channel: 1,
  dataType: 0,
  streamType: 1,
};
