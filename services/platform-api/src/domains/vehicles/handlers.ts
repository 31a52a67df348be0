import { type Bus, findDevice as findRequest, serve } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import type { Records } from '../../store/records.ts';
import { findDevice } from './use-cases.ts';

/** Serves `platform-api.find-device`. */
export const serveVehicles = (bus: Bus, records: Records, onError: (error: unknown) => void): Running[] => [
  serve(bus, findRequest, { queue: 'platform-api', onError }, ({ imei }) => findDevice(records, imei)),
];
