import { parseAttributes } from '../../platform/fields.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { VehicleThresholds } from '../../platform/thresholds.ts';
import { toLocationResponse } from '../last-positions/responses.ts';
import { deriveState } from '../last-positions/rules.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { MiningDevice, MiningDeviceResponse } from './schema.ts';

export const toMiningDeviceResponse = (
  device: MiningDevice,
  thresholds: VehicleThresholds,
  nowMs = Date.now(),
): MiningDeviceResponse => ({
  ...toRecordResponse(device),
  imei: device.recordedImei,
  vehicle_no: device.vehicleNo,
  permit_no: device.permitNo,
  site: device.site,
  owner_name: device.ownerName,
  status: device.status,
  attributes: parseAttributes(device.attributes),
  last_seen: formatTime(device.lastSeen),
  last_location: toPositionResponse(device, thresholds, nowMs),
  data_count: device.dataCount,
});

function toPositionResponse(
  { lastPosition, recordedImei }: MiningDevice,
  thresholds: VehicleThresholds,
  nowMs: number,
): MiningDeviceResponse['last_location'] {
  if (lastPosition === null) return null;
  const location = toLastLocation(lastPosition, recordedImei);
  return toLocationResponse(location, {
    vehicleId: null,
    driverId: null,
    state: deriveState(location, nowMs, thresholds),
  });
}

const toLastLocation = (position: NonNullable<MiningDevice['lastPosition']>, imei: string): LastLocation => ({
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
