import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId } from '../../platform/schemas.ts';
import { type LastLocation, type VehicleState, vehicleStates } from './schema.ts';

export const locationResponseSchema = Type.Object(
  {
    imei: Type.String(),
    vehicle_id: nullable(recordId),
    latitude: Type.Number(),
    longitude: Type.Number(),
    altitude: nullable(Type.Number({ description: 'Metres.' })),
    speed: Type.Number({ description: 'km/h' }),
    course: Type.Integer(),
    gps_valid: Type.Boolean(),
    satellites: nullable(Type.Integer()),
    signal: nullable(Type.Integer()),
    ignition: nullable(Type.Boolean()),
    odometer_km: nullable(Type.Number()),
    fuel_l: nullable(Type.Number()),
    battery_percent: nullable(Type.Number()),
    external_voltage: nullable(Type.Number()),
    alarms: Type.Array(Type.String()),
    driver_id: nullable(recordId),
    address: nullable(Type.String()),
    state: stringEnum(vehicleStates),
    state_since: nullable(
      Type.Integer({
        description:
          'Server time since which the vehicle has had the state, in milliseconds since 1970; null if unknown.',
      }),
    ),
    source: stringEnum(['jt808', 'partner']),
    backfilled: Type.Boolean(),
    timestamp: Type.Integer({ description: 'Time of the terminal, in milliseconds since 1970.' }),
    server_timestamp: Type.Integer({ description: 'Time of the server, in milliseconds since 1970.' }),
  },
  { title: 'Location' },
);

/** Position as a response contains it. */
export type LocationResponse = Static<typeof locationResponseSchema>;

/** Fields of a location response that are not part of the stored position. */
interface LocationFrame {
  readonly vehicleId: number | null;
  readonly driverId: number | null;
  readonly address?: string | null;
  readonly state: VehicleState;
  readonly stateSinceMs?: number | null;
}

export const toLocationResponse = (location: LastLocation, frame: LocationFrame): LocationResponse => ({
  imei: location.imei,
  vehicle_id: frame.vehicleId,
  latitude: location.latitude,
  longitude: location.longitude,
  altitude: location.altitude,
  speed: location.speed,
  course: location.course,
  gps_valid: location.gpsValid,
  satellites: location.satellites,
  signal: location.signal,
  ignition: location.ignition,
  odometer_km: location.odometerKm,
  fuel_l: location.fuelL,
  battery_percent: location.batteryPercent,
  external_voltage: location.externalVoltage,
  alarms: [...location.alarms],
  driver_id: frame.driverId,
  address: frame.address ?? null,
  state: frame.state,
  state_since: frame.stateSinceMs ?? null,
  source: location.source,
  backfilled: location.backfilled,
  timestamp: location.timestamp,
  server_timestamp: location.serverTimestamp,
});
