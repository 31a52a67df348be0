import { type DeviceAccessEvent, DurableConsumer, decodeJson, deviceAccessed, ensureStreams } from '@fleet/bus';
import { type Running, retryUntilSuccess } from '@fleet/service-kit';
import { isErased } from '../domains/accounts/use-cases.ts';
import { recordOnce } from '../domains/audit/use-cases.ts';
import { hadTerminal } from '../domains/vehicles/rules.ts';
import { vehicleByImei } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';

const actionByKind = { command: 'devices.command', view: 'video.view', deletion: 'videos.delete' } as const;

type ConsumerDeps = Pick<Deps, 'bus' | 'records' | 'log' | 'config'>;

const maxInFlight = 16;

/**
 * Notes what is done with devices by API keys of the Device API, which keeps no audit log of its own: what was told while nobody was here, too. All replicas share
 * it, and each use is one entry.
 */
export function consumeDeviceAccess(deps: ConsumerDeps): Running {
  const { bus, log, config } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'an entry of the audit log is not written yet');
  let consumer: DurableConsumer | undefined;
  const start = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    consumer ??= new DurableConsumer(bus, {
      stream: 'AUDIT',
      durable: 'platform-audit',
      subject: deviceAccessed.subject,
      maxInFlight,
      onError,
      handler: async ({ data, subject }) => {
        const access = parseAccess(data);
        // It will never be readable.
        if (access === null) return log.warn({ subject }, 'what is told to the audit log cannot be read');
        await recordAccess(deps, access);
      },
    });
  };
  const onStartError = (error: unknown): void => log.warn({ err: error }, 'could not consume audit events yet');
  let startup = retryUntilSuccess(start, onStartError);
  let restarting: Promise<void> = Promise.resolve();
  // A broker may come back empty, and not have its answers ready at once.
  const unsubscribe = bus.onReconnect(() => {
    restarting = restarting.then(async () => {
      await startup.stop();
      startup = retryUntilSuccess(start, onStartError);
    });
  });
  return {
    stop: async () => {
      unsubscribe();
      await restarting;
      await startup.stop();
      await consumer?.stop();
    },
  };
}

function parseAccess(data: Uint8Array): DeviceAccessEvent | null {
  try {
    const body = decodeJson(data);
    return deviceAccessed.check(body) ? (body as DeviceAccessEvent) : null;
  } catch {
    // It is not even JSON: the same answer.
    return null;
  }
}

async function recordAccess({ records }: ConsumerDeps, access: DeviceAccessEvent): Promise<void> {
  const { id, atMs, keyId, accountId, imei, address, kind, operation, channel, command, seconds } = access;
  const vehicle = await vehicleByImei(records, imei);
  // A device of no account is nobody's vehicle; nor is one that has come into the vehicle since.
  const isVehicle = vehicle?.accountId === accountId && hadTerminal(vehicle, atMs);
  const target = isVehicle ? { type: 'vehicles', id: vehicle._id } : { type: 'devices', id: imei };
  const detail = {
    imei,
    operation,
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...(command === undefined ? {} : { command }),
    ...(seconds === undefined ? {} : { seconds }),
  };
  // By clocks that differ it may not have been done yet.
  const at = new Date(Math.min(atMs, Date.now()));
  const entry = { userId: null, keyId, action: actionByKind[kind], target };
  // Of an account whose personal fields have been removed nothing personal is kept, when it comes late either.
  const personalFields = (await isErased(records, accountId)) ? { detail: {}, ip: null } : { detail, ip: address };
  await recordOnce(records, { id, accountId, at }, { ...entry, ...personalFields });
}
