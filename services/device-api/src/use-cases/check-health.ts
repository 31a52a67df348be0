import { pingService } from '@fleet/bus';
import { pingRedis, readDevice, readStream } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';

/** Time-out of a component, which then counts as not working. */
const checkTimeoutMs = 1_500;

/** `ComponentHealth` of the interface in code. */
interface ComponentHealth {
  readonly stateStore: boolean;
  readonly messageBroker: boolean;
  readonly database: boolean;
  readonly uploadServer: boolean;
  readonly jt808Server: boolean;
  readonly jt1078Server: boolean;
}

/** Checks all components concurrently. Device servers are pinged over the bus: one working replica is enough. */
export async function checkComponents(deps: Pick<Deps, 'bus' | 'database' | 'redis'>): Promise<ComponentHealth> {
  const { bus } = deps;
  const ping = (service: string): Promise<boolean> =>
    bus.isUp() ? pingService(bus, service, checkTimeoutMs) : Promise.resolve(false);
  const [stateStore, messageBroker, database, uploadServer, jt808Server, jt1078Server] = await Promise.all([
    pingRedis(deps.redis, checkTimeoutMs),
    bus.isUp() && resolveOrFalse(bus.nc.flush().then(() => true)),
    deps.database.ping(checkTimeoutMs),
    ping('upload-ftp'),
    ping('jt808-gateway'),
    ping('jt1078-media'),
  ]);
  return { stateStore, messageBroker, database, uploadServer, jt808Server, jt1078Server };
}

/** Returns true while a device has a session on a live gateway. */
export const isDeviceConnected = (deps: Pick<Deps, 'redis'>, imei: string): Promise<boolean> =>
  resolveOrFalse(readDevice(deps.redis, imei).then((device) => device !== null));

/** Returns true while packets of a channel arrive, live or recorded. */
export const isCameraStreaming = (deps: Pick<Deps, 'redis'>, imei: string, channel: number): Promise<boolean> =>
  resolveOrFalse(
    Promise.all([
      readStream(deps.redis, { kind: 'live', imei, channel }),
      readStream(deps.redis, { kind: 'history', imei, channel }),
    ]).then((streams) => streams.some(({ claim }) => claim !== null)),
  );

async function resolveOrFalse(work: Promise<boolean>): Promise<boolean> {
  try {
    return await withTimeout(checkTimeoutMs, work);
  } catch {
    // Unreadable state counts as unhealthy.
    return false;
  }
}
