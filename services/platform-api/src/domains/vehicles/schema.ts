import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { attributes, nullableField, searchText, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { subscriptionResponse } from '../billing/schema.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';
import { vehicleStates as vehicleStateNames } from '../last-positions/schema.ts';
import { deviceDetailSchemas } from './device-details.ts';

const vehicleTypes = [
  'car',
  'truck',
  'bus',
  'van',
  'motorcycle',
  'tanker',
  'trailer',
  'mining_truck',
  'excavator',
  'other',
] as const;
type VehicleType = (typeof vehicleTypes)[number];

const fuelTypes = ['petrol', 'diesel', 'cng', 'lpg', 'electric', 'hybrid', 'other'] as const;
type FuelType = (typeof fuelTypes)[number];

/** Camera of a vehicle. */
export interface Channel {
  readonly channelId: number;
  readonly name: string;
  readonly enabled: boolean;
  readonly hasAudio: boolean;
}

/** Stored vehicle. Its groups and its driver are stored only here; those of groups and drivers are derived from it. */
export interface Vehicle extends AccountRecord {
  readonly ownerUserId: number;
  /** Upper case without spaces. */
  readonly vehicleNo: string;
  readonly name: string;
  /** Canonical terminal number. */
  readonly imei: string | null;
  /**
   * Time since which the vehicle has had the terminal, in ms; absent if both were recorded together. It starts again if
   * a terminal is removed and comes back.
   */
  readonly terminalSinceMs?: number;
  /** Number as it was recorded, with its leading zeros. */
  readonly recordedImei: string | null;
  readonly vehicleType: VehicleType;
  readonly make: string | null;
  readonly model: string | null;
  readonly year: number | null;
  readonly color: string | null;
  readonly vin: string | null;
  readonly fuelType: FuelType | null;
  readonly tankCapacityL: number | null;
  readonly speedLimitKmh: number | null;
  /**
   * Odometer as the user set it, and the distance that the terminal had travelled in the vehicle by then. The distance
   * is absent in records that are older than the count.
   */
  readonly odometerKm: number;
  readonly odometerTravelledKm?: number;
  readonly timezone: string;
  /** Offset of the terminal's own clock, `+HH:MM` or `-HH:MM`. */
  readonly cameraUtcOffset: string;
  readonly driverId: number | null;
  readonly groupIds: readonly number[];
  readonly channels: readonly Channel[];
  /** JSON. */
  readonly attributes: string;
}

/** -12:00 to +14:00. */
export const cameraUtcOffsetPattern = '^([+-](0\\d|1[01]):[0-5]\\d|[+-]12:00|\\+(12|13):[0-5]\\d|\\+14:00)$';

const channel = Type.Object({
  channel_id: Type.Integer({ minimum: 1, maximum: 37 }),
  name: Type.Optional(trimmedText(0, 100)),
  enabled: Type.Optional(Type.Boolean()),
  has_audio: Type.Optional(Type.Boolean()),
});

/** Fields of POST and PUT besides the vehicle number. */
const details = {
  name: Type.Optional(nullableField(trimmedText(0, 100, { description: 'Default: the vehicle number.' }))),
  imei: Type.Optional(
    nullableField(
      Type.String({
        pattern: '^(\\d{12}|\\d{15}|\\d{20})$',
        errorMessage: 'must be a terminal number of 12, 15 or 20 digits',
        description: 'Terminal number of 12 or 20 digits, or of 15 digits for devices of partners.',
        examples: ['013800138000'],
      }),
    ),
  ),
  vehicle_type: Type.Optional(nullableField(stringEnum(vehicleTypes, { description: 'Default: other.' }))),
  make: Type.Optional(nullableField(trimmedText(1, 60))),
  model: Type.Optional(nullableField(trimmedText(1, 60))),
  year: Type.Optional(
    nullableField(Type.Integer({ minimum: 1900, maximum: 2200, description: 'At most the next year.' })),
  ),
  color: Type.Optional(nullableField(trimmedText(1, 40))),
  vin: Type.Optional(
    nullableField(
      Type.String({ pattern: '^[A-Za-z0-9]{11,17}$', errorMessage: 'must be 11 to 17 letters and digits' }),
    ),
  ),
  fuel_type: Type.Optional(nullableField(stringEnum(fuelTypes))),
  tank_capacity_l: Type.Optional(nullableField(Type.Number({ minimum: 1, maximum: 100_000 }))),
  speed_limit_kmh: Type.Optional(nullableField(Type.Integer({ minimum: 10, maximum: 200 }))),
  odometer_km: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000_000 })),
  timezone: Type.Optional(
    nullableField(trimmedText(1, 60, { description: "IANA name, such as Asia/Kolkata. Default: the account's." })),
  ),
  camera_utc_offset: Type.Optional(
    nullableField(
      Type.String({
        pattern: cameraUtcOffsetPattern,
        errorMessage: 'must be an offset from -12:00 to +14:00, such as +08:00',
        description: "Offset of the terminal's own clock. Default: +08:00.",
        examples: ['+08:00'],
      }),
    ),
  ),
  driver_id: Type.Optional(nullableField(recordId)),
  group_ids: Type.Optional(Type.Array(recordId, { maxItems: 200 })),
  channels: Type.Optional(
    Type.Array(channel, { maxItems: 16, description: 'Filled from the response of the terminal while empty.' }),
  ),
  attributes: Type.Optional(attributes),
};

const vehicleNo = trimmedText(1, 20, { description: 'Stored in upper case without spaces; unique in the account.' });

export const createVehicleBody = Type.Object({ vehicle_no: vehicleNo, ...details });
export const updateVehicleBody = Type.Object({ vehicle_no: Type.Optional(vehicleNo), ...details });
export type VehicleBody = Static<typeof updateVehicleBody>;

export const ownerBody = Type.Object({ owner_user_id: recordId });

export const sortable = ['id', 'vehicle_no', 'name', 'created_at', 'updated_at'] as const;

export const listVehiclesQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(sortable),
  query: searchText('vehicle_no, name or imei'),
  state: Type.Optional(stringEnum(vehicleStateNames)),
  group_id: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Returns vehicles of the group and of the groups below it.' }),
  ),
  driver_id: Type.Optional(recordId),
  imei: Type.Optional(text(1, 20)),
});
export type ListVehiclesQuery = Static<typeof listVehiclesQuery>;

const deviceResponseSchema = Type.Object(
  {
    protocol: stringEnum(['jt808-2011', 'jt808-2013', 'jt808-2019', 'partner']),
    ...deviceDetailSchemas,
    connected: Type.Boolean(),
    connected_since: nullable(time),
    last_seen: nullable(time),
  },
  { title: 'VehicleDevice' },
);
export type DeviceResponse = Static<typeof deviceResponseSchema>;

export const vehicleResponseSchema = Type.Object(
  {
    ...recordProperties,
    account_id: recordId,
    owner_user_id: recordId,
    vehicle_no: Type.String(),
    name: Type.String(),
    imei: nullable(Type.String({ description: 'In the form that the terminal sends; until then as recorded.' })),
    vehicle_type: stringEnum(vehicleTypes),
    make: nullable(Type.String()),
    model: nullable(Type.String()),
    year: nullable(Type.Integer()),
    color: nullable(Type.String()),
    vin: nullable(Type.String()),
    fuel_type: nullable(stringEnum(fuelTypes)),
    tank_capacity_l: nullable(Type.Number()),
    speed_limit_kmh: nullable(Type.Integer()),
    odometer_km: Type.Number(),
    timezone: Type.String(),
    camera_utc_offset: Type.String(),
    driver_id: nullable(recordId),
    group_ids: Type.Array(recordId),
    channels: Type.Array(
      Type.Object({
        channel_id: Type.Integer(),
        name: Type.String(),
        enabled: Type.Boolean(),
        has_audio: Type.Boolean(),
      }),
    ),
    attributes,
    access: stringEnum(['owner', 'shared'], { description: '`shared`: the caller sees the vehicle through a share.' }),
    permissions: Type.Array(Type.String(), { description: 'Permissions of the caller for the vehicle.' }),
    state: stringEnum(vehicleStateNames),
    state_since: nullable(
      Type.Integer({
        description:
          'Server time since which the vehicle has had the state, in milliseconds since 1970; null if unknown.',
      }),
    ),
    location: nullable(locationResponseSchema),
    device: nullable(deviceResponseSchema),
    subscription: nullable(subscriptionResponse),
  },
  { title: 'Vehicle' },
);
export type VehicleResponse = Static<typeof vehicleResponseSchema>;
