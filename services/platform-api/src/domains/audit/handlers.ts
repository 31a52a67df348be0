import { type DeviceUse, decodeJson, deviceUsed, ensureStreams, StoredConsumer } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { UntilDone } from '../../bootstrap.ts';
import type { Deps } from '../../deps.ts';
import { isErased } from '../accounts/use-cases.ts';
import { hadTerminal } from '../vehicles/rules.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { insertTold } from './store.ts';

const actions = { command: 'devices.command', view: 'video.view', deletion: 'videos.delete' } as const;

type Parts = Pick<Deps, 'bus' | 'records' | 'log' | 'config'>;

const maxInFlight = 16;

/**
 * Notes what is done with devices by API keys of the Device API, which keeps no audit log of its own: what was told while nobody was here, too. All replicas share
 * it, and each use is one entry.
 */
export function serveAudit(deps: Parts): Running {
  const { bus, log, config } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'an entry of the audit log is not written yet');
  let consumer: StoredConsumer | undefined;
  const begin = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    consumer ??= new StoredConsumer(bus, {
      stream: 'AUDIT',
      durable: 'platform-audit',
      subject: deviceUsed.subject,
      maxInFlight,
      onError,
      handler: async ({ data, subject }) => {
        const use = readUse(data);
        // It will never be readable.
        if (use === null) return log.warn({ subject }, 'what is told to the audit log can not be read');
        await noteUse(deps, use);
      },
    });
  };
  const notYet = 'what is told to the audit log is not listened for yet';
  let begun = new UntilDone(log, notYet, begin);
  let looking: Promise<void> = Promise.resolve();
  // A broker may come back empty, and not have its answers ready at once.
  const off = bus.onReconnect(() => {
    looking = looking.then(async () => {
      await begun.stop();
      begun = new UntilDone(log, notYet, begin);
    });
  });
  return {
    stop: async () => {
      off();
      await looking;
      await begun.stop();
      await consumer?.stop();
    },
  };
}

function readUse(data: Uint8Array): DeviceUse | null {
  try {
    const body = decodeJson(data);
    return deviceUsed.check(body) ? (body as DeviceUse) : null;
  } catch {
    // It is not even JSON: the same answer.
    return null;
  }
}

async function noteUse({ records }: Parts, use: DeviceUse): Promise<void> {
  const { id, atMs, keyId, accountId, imei, address, kind, operation, channel, command, seconds } = use;
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
  const entry = { userId: null, keyId, action: actions[kind], target };
  // Of an account whose personal fields have been removed nothing personal is kept, when it comes late either.
  const personal = (await isErased(records, accountId)) ? { detail: {}, ip: null } : { detail, ip: address };
  await insertTold(records, { id, accountId, at }, { ...entry, ...personal });
}
