import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { recordId, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';

/** Columns of the rows, in this order. */
export const fleetColumns = [
  'vehicle_id',
  'vehicle_no',
  'name',
  'vehicle_type',
  'imei',
  'group_ids',
  'driver_id',
  'driver_name',
  'channel_ids',
  'access',
  'permissions',
  'state',
  'state_since',
  'connected',
  'latitude',
  'longitude',
  'speed',
  'course',
  'ignition',
  'gps_valid',
  'timestamp',
  'open_severity',
] as const;

/** Largest number of rows: the vehicles with the smallest ids. */
export const maxFleetRows = 50_000;

/** One vehicle: a value for each column. */
export type FleetRow = readonly unknown[];

export const fleetQuery = Type.Object({ updated_since: Type.Optional(timeParameter) });

export const fleetResponseSchema = Type.Object(
  {
    columns: Type.Array(stringEnum(fleetColumns), { description: 'Names of the values of each row, in their order.' }),
    rows: Type.Array(Type.Array(Type.Unknown()), { description: 'One vehicle each.' }),
    removed: Type.Array(recordId, { description: 'Vehicles that are no longer visible to the caller.' }),
    complete: Type.Boolean({ description: 'True if `rows` has every visible vehicle.' }),
    generated_at: time,
  },
  { title: 'Fleet' },
);
export type FleetResponse = Static<typeof fleetResponseSchema>;
