import { sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { attributes, nullableField, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';

const miningStatuses = ['pending', 'active', 'inactive'] as const;

/** Stored position that a partner's server sent (docs/reference/partners.md). */
export interface IngestedPosition {
  readonly _id: string;
  readonly accountId: number;
  /** Canonical terminal number. */
  readonly imei: string;
  readonly timestamp: Date;
  readonly receivedAt: Date;
  readonly latitude: number;
  readonly longitude: number;
  readonly speed: number;
  readonly course: number;
  readonly altitude: number | null;
  readonly satellites: number | null;
  readonly ignition: boolean | null;
  readonly odometerKm: number | null;
  readonly batteryPercent: number | null;
  readonly backfilled: boolean;
}

/** Stored heartbeat that a partner's server sent. Its additional values are JSON. */
export interface IngestedHeartbeat {
  readonly _id: string;
  readonly accountId: number;
  readonly imei: string;
  readonly timestamp: Date;
  readonly receivedAt: Date;
  readonly values: string;
}

/** Device under a mining permit. Its number makes it known to partner ingest. */
export interface MiningDevice extends AccountRecord {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly recordedImei: string;
  readonly vehicleNo: string | null;
  readonly permitNo: string | null;
  readonly site: string | null;
  readonly ownerName: string | null;
  readonly status: (typeof miningStatuses)[number];
  /** JSON. */
  readonly attributes: string;
  readonly lastSeen: Date | null;
  readonly lastPosition: Omit<IngestedPosition, '_id'> | null;
  readonly dataCount: number;
}

const fields = {
  vehicle_no: Type.Optional(nullableField(trimmedText(1, 40))),
  permit_no: Type.Optional(nullableField(trimmedText(1, 60))),
  site: Type.Optional(nullableField(trimmedText(1, 100))),
  owner_name: Type.Optional(nullableField(trimmedText(1, 100))),
  status: Type.Optional(stringEnum(miningStatuses, { description: 'Default: pending.' })),
  attributes: Type.Optional(attributes),
};

const terminalNumber = Type.String({
  pattern: '^(\\d{12}|\\d{15}|\\d{20})$',
  errorMessage: 'must be a terminal number of 12, 15 or 20 digits',
  description: 'Terminal number of 12, 15 or 20 digits; unique among mining devices.',
  examples: ['868120303960832'],
});

export const createMiningDeviceBody = Type.Object({ imei: terminalNumber, ...fields });
export const updateMiningDeviceBody = Type.Object({
  imei: Type.Optional(Type.String({ readOnly: true, description: 'Cannot be changed.' })),
  ...fields,
});
export type MiningDeviceBody = Static<typeof updateMiningDeviceBody>;

const moment = Type.Unsafe<string | number>({
  type: ['string', 'integer'],
  minimum: 0,
  maximum: 8.64e15,
  maxLength: 40,
  description: 'RFC 3339, or milliseconds since 1970.',
});
const filterFields = {
  status: Type.Optional(stringEnum(miningStatuses)),
  site: Type.Optional(text(1, 100)),
  seen_since: Type.Optional(moment),
  created_from: Type.Optional(moment),
  created_to: Type.Optional(moment),
};

/** Stored names of sort fields that differ from their API names. */
export const sortFields = { vehicle_no: 'vehicleNo', last_seen: 'lastSeen', created_at: 'createdAt' } as const;

export const listMiningDevicesBody = Type.Object({
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000, default: 1 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, default: 50, description: 'Values above 200 are treated as 200.' })),
  sort: sortParameter(['id', 'imei', 'vehicle_no', 'last_seen', 'created_at']),
  query: Type.Optional(
    nullableField(text(0, 200, { description: 'Case-insensitive part of imei, vehicle_no or permit_no.' })),
  ),
  // An unknown filter is rejected, not ignored, because the response would not match the request.
  filters: Type.Optional(
    Type.Object(filterFields, { additionalProperties: true, propertyNames: { enum: Object.keys(filterFields) } }),
  ),
});
export type ListMiningDevicesBody = Static<typeof listMiningDevicesBody>;

export const clearDatabaseBody = Type.Object({
  confirm: stringEnum(['CLEAR'], { description: 'Required; nothing is deleted without it.' }),
  imei: Type.Optional(nullableField(text(1, 20, { description: 'Deletes only data that this device sent.' }))),
  before: Type.Optional(moment),
});

export const clearedResponseSchema = Type.Object(
  { locations_deleted: Type.Integer({ minimum: 0 }), heartbeats_deleted: Type.Integer({ minimum: 0 }) },
  { title: 'ClearedData' },
);

export const miningDeviceResponseSchema = Type.Object(
  {
    ...recordProperties,
    imei: Type.String({ description: 'Number in the form that was recorded.' }),
    vehicle_no: nullable(Type.String()),
    permit_no: nullable(Type.String()),
    site: nullable(Type.String()),
    owner_name: nullable(Type.String()),
    status: stringEnum(miningStatuses),
    attributes,
    last_seen: nullable(time),
    last_location: nullable(locationResponseSchema),
    data_count: Type.Integer({ minimum: 0, description: 'Number of ingested positions.' }),
  },
  { title: 'MiningDevice' },
);
export type MiningDeviceResponse = Static<typeof miningDeviceResponseSchema>;
