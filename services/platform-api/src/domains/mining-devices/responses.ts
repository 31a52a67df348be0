import { parseAttributes } from '../../platform/fields.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import { toLocationResponse } from '../last-positions/responses.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { MiningDevice, MiningDeviceResponse } from './schema.ts';

export const toMiningDeviceResponse = (device: MiningDevice, nowMs = Date.now()): MiningDeviceResponse => ({
  ...toRecordResponse(device),
  imei: device.recordedImei,
  vehicle_no: device.vehicleNo,
  permit_no: device.permitNo,
  site: device.site,
  owner_name: device.ownerName,
  status: device.status,
  attributes: parseAttributes(device.attributes),
  last_seen: formatTime(device.lastSeen),
  last_location: toPositionResponse(device, nowMs),
  data_count: device.dataCount,
});

const toPositionResponse = (
  { lastPosition, recordedImei }: MiningDevice,
  nowMs: number,
): MiningDeviceResponse['last_location'] =>
  lastPosition === null
    ? null
    : toLocationResponse(asLastLocation(lastPosition, recordedImei), { vehicleId: null, driverId: null, nowMs });

const asLastLocation = (position: NonNullable<MiningDevice['lastPosition']>, imei: string): LastLocation => ({
  imei,
  latitude: position.latitude,
  longitude: position.longitude,
  altitude: position.altitude,
  speed: position.speed,
  course: position.course,
  gpsValid: true,
  satellites: position.satellites,
  signal: null,
  ignition: position.ignition,
  odometerKm: position.odometerKm,
  fuelL: null,
  batteryPercent: position.batteryPercent,
  externalVoltage: null,
  alarms: [],
  source: 'partner',
  backfilled: position.backfilled,
  // The start of the slow phase is not stored, so a slow vehicle with ignition counts as moving.
  slowSinceMs: null,
  timestamp: position.timestamp.getTime(),
  serverTimestamp: position.receivedAt.getTime(),
});
