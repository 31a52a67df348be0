import { type Bus, findDevice as findRequest, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { RecordStore } from '../../store/record-store.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { miningDeviceByImei } from '../mining-devices/ingestion.ts';
import { findDevice } from './use-cases.ts';

/** Serves `platform-api.find-device`. */
export const serveVehicles = (bus: Bus, records: RecordStore, onError: (error: unknown) => void): Running[] => [
  serve(bus, findRequest, { queue: 'platform-api', onError }, async ({ imei }) => {
    const found = await findDevice(records, imei);
    if (found.known) return withQuota(records, found);
    // A mining device belongs to its account only; it can get commands through a partner.
    const device = await miningDeviceByImei({ records }, imei);
    return device === null ? found : withQuota(records, { ...found, accountId: device.accountId });
  }),
];

/** Adds the limits of the account. */
async function withQuota<Found extends { readonly accountId: number | null }>(
  records: RecordStore,
  found: Found,
): Promise<Found & { readonly maxStreams?: number }> {
  const account = found.accountId === null ? null : await getAccount(records, found.accountId);
  const maxStreams = account?.maxStreams ?? null;
  return maxStreams === null ? found : { ...found, maxStreams };
}
