import { shownAttributes } from '../../fields.ts';
import { shownRecord, shownTime } from '../../schemas.ts';
import { stateOf } from '../realtime/rules.ts';
import type { LastLocation } from '../realtime/schema.ts';
import type { MiningDevice, MiningDeviceShown } from './schema.ts';

export const shownMiningDevice = (device: MiningDevice, nowMs = Date.now()): MiningDeviceShown => ({
  ...shownRecord(device),
  imei: device.recordedImei,
  vehicle_no: device.vehicleNo,
  permit_no: device.permitNo,
  site: device.site,
  owner_name: device.ownerName,
  status: device.status,
  attributes: shownAttributes(device.attributes),
  last_seen: shownTime(device.lastSeen),
  last_location: shownPosition(device, nowMs),
  data_count: device.dataCount,
});

function shownPosition(
  { lastPosition, recordedImei }: MiningDevice,
  nowMs: number,
): MiningDeviceShown['last_location'] {
  if (lastPosition === null) return null;
  const location = asLastLocation(lastPosition, recordedImei);
  return {
    imei: recordedImei,
    vehicle_id: null,
    latitude: location.latitude,
    longitude: location.longitude,
    altitude: location.altitude,
    speed: location.speed,
    course: location.course,
    gps_valid: true,
    satellites: location.satellites,
    signal: null,
    ignition: location.ignition,
    odometer_km: location.odometerKm,
    fuel_l: null,
    battery_percent: location.batteryPercent,
    external_voltage: null,
    alarms: [],
    driver_id: null,
    address: null,
    state: stateOf(location, nowMs),
    source: 'partner',
    backfilled: location.backfilled,
    timestamp: location.timestamp,
    server_timestamp: location.serverTimestamp,
  };
}

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
  // Since when it has been slow is not kept: a slow vehicle with ignition is on its way.
  slowSinceMs: null,
  timestamp: position.timestamp.getTime(),
  serverTimestamp: position.receivedAt.getTime(),
});
