import { terminalKey } from '@fleet/jt808';
import { validationError } from '@fleet/service-kit';
import { omitUndefined, serializeAttributes } from '../../platform/fields.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import type { Change } from '../../store/account-repository.ts';
import type { MiningDevice, MiningDeviceBody } from './schema.ts';

/** Default values of a new device. */
export const deviceDefaults = {
  vehicleNo: null,
  permitNo: null,
  site: null,
  ownerName: null,
  status: 'pending',
  attributes: '{}',
  lastSeen: null,
  lastPosition: null,
  dataCount: 0,
} as const;

/** Returns the canonical number; throws 400 for all zeros. */
export function keyOf(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw validationError([{ path: '/imei', message: 'must not be all zeros' }]);
  return key;
}

/** Returns the stored fields of a body. */
export const deviceChange = (body: MiningDeviceBody): Change<MiningDevice> =>
  omitUndefined({
    vehicleNo: body.vehicle_no,
    permitNo: body.permit_no,
    site: body.site,
    ownerName: body.owner_name,
    status: body.status,
    attributes: body.attributes === undefined ? undefined : serializeAttributes(body.attributes),
  });

/** Parses a time in a body: RFC 3339 or milliseconds. */
export const bodyMoment = (value: string | number | null | undefined, name: string): Date | undefined =>
  value === undefined || value === null ? undefined : parseTimestamp(String(value), name);
