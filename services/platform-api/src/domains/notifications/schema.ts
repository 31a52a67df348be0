import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { attributes, nullableField, searchText, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { type Category, categories, type Severity, severities } from './types.ts';

/** Record of a finding about a vehicle of the record's account. */
export interface Notification extends AccountRecord {
  /** Unique for each finding, so that recording it twice creates one record (docs/glossary.md). */
  readonly dedupeKey: string;
  readonly type: string;
  readonly title: string;
  readonly description: string;
  readonly category: Category;
  readonly severity: Severity;
  readonly vehicleId: number;
  readonly vehicleNo: string;
  /** Number in the form that the terminal sends. */
  readonly imei: string;
  readonly driverId: number | null;
  /** Latitude and longitude are 0 if no position was ever known. */
  readonly latitude: number;
  readonly longitude: number;
  /** Address for every viewer of the notification. */
  readonly address: string | null;
  /** Geofence that contains the position; it is the address for users of the account. */
  readonly area?: string | null;
  /** JSON. */
  readonly attributes: string;
  /** Pictures and other files; viewers who may see them get URLs. */
  readonly media: readonly { readonly id: number; readonly kind: string }[];
  readonly backfilled: boolean;
  /** Event time in milliseconds. */
  readonly timestamp: number;
  /** Unique for each terminal; receivers detect duplicates by it. */
  readonly serverTimestamp: number;
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: number | null;
}

/** Channels on which a user is notified. */
export const notifyChannels = ['push', 'sms', 'email'] as const;

/** One of `notifyChannels`. */
export type NotifyChannel = (typeof notifyChannels)[number];

/** Notification types that a user wants for a vehicle. The record belongs to the user's account. */
export interface VehiclePreferences extends AccountRecord {
  /** `<user id>:<vehicle id>` */
  readonly pair: string;
  readonly userId: number;
  readonly vehicleId: number;
  readonly notificationTypes: readonly string[];
  readonly channels: readonly NotifyChannel[];
}

/** Platforms of push tokens. */
const pushPlatforms = ['android', 'ios', 'web'] as const;

/** Device that gets push messages for a user. */
export interface PushToken extends AccountRecord {
  readonly userId: number;
  readonly token: string;
  /** A token belongs to one user only: the one who used it last. */
  readonly tokenSha256: string;
  readonly platform: (typeof pushPlatforms)[number] | null;
  readonly deviceId: string | null;
  /** Time at which the user's device sent the token last. */
  readonly seenAt: Date;
}

export const typeResponseSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    description: Type.String(),
    category: stringEnum(categories),
    severity: stringEnum(severities),
    default_enabled: Type.Boolean(),
    sources: Type.Array(Type.String()),
  },
  { title: 'NotificationType' },
);

const filters = {
  ...paginationQuery,
  sort: sortParameter(['id', 'timestamp'], { default: '-timestamp' }),
  type: Type.Optional(
    Type.Unsafe<string>({
      ...text(1, 2_000, { description: 'Notification types, separated by commas, such as `sos,overspeed`.' }),
      alias: 'notification_type',
    }),
  ),
  severity: Type.Optional(stringEnum(severities)),
  from: Type.Optional(timeParameter),
  to: Type.Optional(timeParameter),
};

export const vehicleListQuery = Type.Object({
  ...filters,
  record_date: Type.Optional(
    text(1, 20, {
      description: "Day in the vehicle's time zone, D/M/YYYY. Default: today, unless from or to is given.",
    }),
  ),
});
export type VehicleListQuery = Static<typeof vehicleListQuery>;

const listFilters = {
  type: filters.type,
  severity: filters.severity,
  from: filters.from,
  to: filters.to,
  category: Type.Optional(stringEnum(categories, { description: 'Only notifications of this category.' })),
  acknowledged: Type.Optional(
    Type.Boolean({ description: 'Only acknowledged notifications (true), or only open ones (false).' }),
  ),
  vehicle_id: Type.Optional(
    Type.String({
      pattern: '^[1-9][0-9]{0,14}(,[1-9][0-9]{0,14}){0,199}$',
      errorMessage: 'must be 1 to 200 ids, separated by commas',
      description: 'Only notifications of these vehicles: 1 to 200 ids, separated by commas.',
      examples: ['7,12'],
    }),
  ),
  group_id: Type.Optional(recordId),
  driver_id: Type.Optional(recordId),
  query: searchText('title, vehicle number or address'),
};

export const listQuery = Type.Object({ ...filters, ...listFilters });
export type ListQuery = Static<typeof listQuery>;

export const summaryQuery = Type.Object(listFilters);
export type SummaryQuery = Static<typeof summaryQuery>;

const count = Type.Integer({ minimum: 0 });

export const summaryResponseSchema = Type.Object(
  {
    total: count,
    open: Type.Object({ critical: count, warning: count, info: count }),
    by_type: Type.Record(Type.String(), count, { description: 'Number of notifications of each type that occurs.' }),
  },
  { title: 'NotificationSummary' },
);
export type SummaryResponse = Static<typeof summaryResponseSchema>;

const notificationFields = {
  ...recordProperties,
  title: Type.String(),
  description: Type.String(),
  notification_type: Type.String(),
  imei: Type.String(),
  timestamp: Type.Integer({ description: 'Time of the event, in milliseconds since 1970.' }),
  server_timestamp: Type.Integer({
    description: 'Time of the server, in milliseconds since 1970; unique for each imei.',
  }),
  location: Type.Object({ latitude: Type.Number(), longitude: Type.Number() }),
  vehicle_id: recordId,
  vehicle_no: Type.String(),
  driver_id: nullable(recordId),
  category: stringEnum(categories),
  severity: stringEnum(severities),
  address: nullable(Type.String()),
  attributes,
  media: Type.Array(Type.Object({ id: recordId, kind: Type.String(), url: Type.String() })),
  backfilled: Type.Boolean(),
  acknowledged_at: nullable(time),
  acknowledged_by: nullable(recordId),
};

const notificationRecord = Type.Object(notificationFields);
/** A notification without names and thumbnails, as events and webhooks contain it. */
export type NotificationContent = Static<typeof notificationRecord>;

export const notificationResponseSchema = Type.Object(
  {
    ...notificationFields,
    media: Type.Array(
      Type.Object({
        id: recordId,
        kind: Type.String(),
        url: Type.String(),
        thumbnail_url: nullable(Type.String({ description: 'JPEG; null for a file without a picture.' })),
      }),
    ),
    acknowledged_by_name: nullable(Type.String()),
    driver_name: nullable(Type.String()),
  },
  { title: 'Notification' },
);
export type NotificationResponse = Static<typeof notificationResponseSchema>;

const note = Type.Optional(nullableField(trimmedText(0, 1_000)));

export const acknowledgeBody = Type.Object({ note });

export const acknowledgeManyBody = Type.Object({
  ids: Type.Array(recordId, { minItems: 1, maxItems: 200 }),
  note,
});

export const acknowledgeManyResponseSchema = Type.Object({
  acknowledged: Type.Array(recordId),
  failed: Type.Array(
    Type.Object({
      id: recordId,
      code: Type.String({ description: 'As in an error response.', examples: ['not_found'] }),
    }),
  ),
});
export type AcknowledgeManyResponse = Static<typeof acknowledgeManyResponseSchema>;

export const preferencesBody = Type.Object({
  notification_types: Type.Array(Type.String({ maxLength: 100 }), {
    maxItems: 500,
    description: 'The complete set; an empty list mutes the vehicle.',
  }),
  channels: Type.Optional(Type.Array(stringEnum(notifyChannels), { maxItems: 10 })),
});
export type PreferencesBody = Static<typeof preferencesBody>;

export const preferencesResponseSchema = Type.Object(
  {
    vehicle_id: recordId,
    notification_types: Type.Array(Type.String()),
    channels: Type.Array(stringEnum(notifyChannels)),
    is_default: Type.Boolean({ description: 'True until the caller has set preferences.' }),
  },
  { title: 'VehiclePreferences' },
);

export const pushTokenBody = Type.Object({
  push_token: text(0, 4_096, {
    description: 'An empty token ends push messages to the device in `device_id`, or to all devices of the user.',
  }),
  platform: Type.Optional(nullableField(stringEnum(pushPlatforms))),
  device_id: Type.Optional(nullableField(text(1, 200))),
});
export type PushTokenBody = Static<typeof pushTokenBody>;

export const pushTokenResponseSchema = Type.Object(
  {
    id: nullable(recordId),
    platform: nullable(stringEnum(pushPlatforms)),
    updated_at: time,
  },
  { title: 'PushToken' },
);
