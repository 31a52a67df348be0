import { deviceUsed, listenFor } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { Static } from 'typebox';
import type { Deps } from '../../deps.ts';
import { vehicleByImei } from '../vehicles/use-cases.ts';
import { audit } from './use-cases.ts';

const actions = { command: 'devices.command', view: 'video.view', deletion: 'videos.delete' } as const;

type Parts = Pick<Deps, 'bus' | 'records' | 'log'>;

/** Notes what is done with devices by API keys of the Device API, which keeps no audit log of its own. One replica hears of each. */
export function serveAudit(deps: Parts, onError: (error: unknown) => void): Running[] {
  const hear = (use: Static<typeof deviceUsed.schema>): void => void noteUse(deps, use).catch(onError);
  const heard = listenFor(deps.bus, deviceUsed, onError, hear, deviceUsed.subject, 'platform-api');
  return [{ stop: async () => heard.stop() }];
}

async function noteUse(deps: Parts, use: Static<typeof deviceUsed.schema>): Promise<void> {
  const { keyId, accountId, imei, address, kind, operation, channel, command, seconds } = use;
  const vehicle = await vehicleByImei(deps.records, imei);
  // A device of no account is nobody's vehicle.
  const target =
    vehicle?.accountId === accountId ? { type: 'vehicles', id: vehicle._id } : { type: 'devices', id: imei };
  const detail = {
    imei,
    operation,
    ...(channel === undefined ? {} : { channel_id: channel }),
    ...(command === undefined ? {} : { command }),
    ...(seconds === undefined ? {} : { seconds }),
  };
  await audit(deps, { accountId, keyId, ip: address }, actions[kind], target, detail);
}
