import { type DeviceAccessEvent, DurableConsumer, decodeJson, deviceAccessed } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { isErased } from '../domains/accounts/use-cases.ts';
import { recordOnce } from '../domains/audit/use-cases.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import { vehicleByImei } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { startDurableConsumers } from './start-durable-consumers.ts';

const actionByKind = {
  command: 'devices.command',
  talk: 'video.talk',
  talkEnd: 'video.talk_end',
  view: 'video.view',
  deletion: 'videos.delete',
} as const;

type ConsumerDeps = Pick<Deps, 'bus' | 'records' | 'log' | 'config'>;

const maxInFlight = 16;

/**
 * Starts to record how callers use devices over the Device API and the video service, which have no audit log of their
 * own. Also records uses from times when no replica was running. Each use results in one entry.
 */
export function startDeviceAccessConsumer(deps: ConsumerDeps): Running {
  const { bus, log } = deps;
  return startDurableConsumers(deps, 'device access', () => [
    new DurableConsumer(bus, {
      stream: 'AUDIT',
      durable: 'platform-audit',
      subject: deviceAccessed.subject,
      maxInFlight,
      onError: (error) => log.warn({ err: error }, 'could not write an audit log entry yet'),
      handler: async ({ data, subject }) => {
        const access = parseAccess(data);
        // The message will never be readable, so it is not retried.
        if (access === null) return log.warn({ subject }, 'could not read an event for the audit log');
        await recordAccess(deps, access);
      },
    }),
  ]);
}

function parseAccess(data: Uint8Array): DeviceAccessEvent | null {
  try {
    const body = decodeJson(data);
    return deviceAccessed.check(body) ? (body as DeviceAccessEvent) : null;
  } catch {
    // Invalid JSON is treated like an invalid event.
    return null;
  }
}

async function recordAccess({ records }: ConsumerDeps, access: DeviceAccessEvent): Promise<void> {
  const {
    id,
    atMs,
    keyId = null,
    userId = null,
    linkId,
    accountId,
    imei,
    address,
    kind,
    operation,
    channel,
    command,
    isForced,
    seconds,
  } = access;
  const vehicle = await vehicleByImei(records, imei);
  // A device without an account has no vehicle. A vehicle that received the device after the use is not the target
  // either.
  const isVehicle = vehicle?.accountId === accountId && hadTerminalAt(vehicle, atMs);
  const target = isVehicle ? { type: 'vehicles', id: vehicle._id } : { type: 'devices', id: imei };
  const detail = {
    imei,
    operation,
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...(command === undefined ? {} : { command }),
    ...(isForced === undefined ? {} : { force: isForced }),
    ...(seconds === undefined ? {} : { seconds }),
    ...(linkId === undefined ? {} : { share_link_id: linkId }),
  };
  // If the clocks differ, the time of the use may be in the future.
  const at = new Date(Math.min(atMs, Date.now()));
  const entry = { userId, keyId, action: actionByKind[kind], target };
  // Entries of an erased account have no personal fields, even if the event arrives late.
  const personalFields = (await isErased(records, accountId)) ? { detail: {}, ip: null } : { detail, ip: address };
  await recordOnce(records, { id, accountId, at }, { ...entry, ...personalFields });
}
