import { type Bus, findDevice as findRequest, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { RecordStore } from '../../store/record-store.ts';
import { miningDeviceByImei } from '../mining-devices/ingestion.ts';
import { findDevice } from './use-cases.ts';

/** Serves `platform-api.find-device`. */
export const serveVehicles = (bus: Bus, records: RecordStore, onError: (error: unknown) => void): Running[] => [
  serve(bus, findRequest, { queue: 'platform-api', onError }, async ({ imei }) => {
    const found = await findDevice(records, imei);
    if (found.known) return found;
    // A mining device belongs to its account only; it can get commands through a partner.
    const device = await miningDeviceByImei({ records }, imei);
    return device === null ? found : { ...found, accountId: device.accountId };
  }),
];
