import { type Static, type TSchema, Type } from 'typebox';
import { nullableField, stringEnum, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/**
 * The values that a user has set; others have defaults. They are stored as JSON because they may contain names that
 * databases do not allow.
 */
export interface StoredPreferences extends AccountRecord {
  readonly userId: number;
  readonly json: string;
}

/** The values that an account has set; others have defaults. */
export interface StoredConfig extends AccountRecord {
  readonly json: string;
}

const clock = Type.String({
  pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
  errorMessage: 'must be a time of day from 00:00 to 23:59',
  examples: ['22:00'],
});
const quietHours = Type.Object({ from: clock, to: clock });

/** Makes an object nullable as a union, so that unknown fields inside it are still found. */
const orNull = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const center = Type.Object({
  lat: Type.Number({ minimum: -90, maximum: 90 }),
  lng: Type.Number({ minimum: -180, maximum: 180 }),
});

const mapFields = {
  style: trimmedText(1, 100),
  center: orNull(center),
  zoom: Type.Number({ minimum: 0, maximum: 24 }),
  follow: Type.Boolean(),
  clusters: Type.Boolean(),
};
const notificationFields = {
  push: Type.Boolean(),
  sms: Type.Boolean(),
  email: Type.Boolean(),
  sound: Type.Boolean(),
  quiet_hours: orNull(quietHours),
};
/** What happens to streams of a vehicle whose data budget is spent. */
const overBudget = stringEnum(['notify', 'sub_stream', 'refuse'], {
  description:
    'When the budget of the month is spent. notify: only a notification. sub_stream: live video in low quality only. refuse: neither live video nor playback, also of running streams.',
});
const budget = nullableField(
  Type.Integer({ minimum: 1, maximum: 100_000_000, description: 'Million bytes a month; null: no budget.' }),
);
const videoFields = {
  stream_type: stringEnum(['LOW', 'HIGH']),
  grid: Type.Integer({ minimum: 1, maximum: 36 }),
  audio: Type.Boolean(),
  data_budget_mb: budget,
  over_budget: overBudget,
  vehicle_data_budgets: Type.Array(
    Type.Object({ vehicle_id: recordId, data_budget_mb: budget, over_budget: overBudget }),
    { maxItems: 1_000, description: 'Vehicles with another budget than `data_budget_mb`.' },
  ),
};
const plainFields = {
  language: Type.String({
    pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$',
    errorMessage: 'must be a language tag such as en or pt-BR',
    examples: ['en', 'pt-BR'],
  }),
  timezone: trimmedText(1, 60, { description: 'IANA name, such as Asia/Kolkata.' }),
  distance_unit: stringEnum(['km', 'mi']),
  speed_unit: stringEnum(['kmh', 'mph', 'kn']),
  volume_unit: stringEnum(['l', 'gal']),
  date_format: trimmedText(1, 30),
  time_format: stringEnum(['24h', '12h']),
  theme: stringEnum(['system', 'light', 'dark']),
};
const dashboard = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free-form data of web pages, at most 16 KiB of JSON.',
});

const partial = <T extends Record<string, TSchema>>(fields: T) => Type.Partial(Type.Object(fields));

export const preferencesBody = Type.Partial(
  Type.Object({
    ...plainFields,
    map: partial(mapFields),
    notifications: partial(notificationFields),
    default_group_id: nullableField(recordId),
    video: partial(videoFields),
    dashboard,
  }),
);
export type PreferencesBody = Static<typeof preferencesBody>;

const preferencesFields = {
  ...plainFields,
  map: Type.Object(mapFields),
  notifications: Type.Object(notificationFields),
  default_group_id: nullable(recordId),
  video: Type.Object(videoFields),
  dashboard,
};
export const preferencesResponseSchema = Type.Object(
  { ...recordProperties, ...preferencesFields },
  { title: 'Preferences' },
);

const preferencesValues = Type.Object(preferencesFields);
/** The complete preferences of a user. */
export type Preferences = Static<typeof preferencesValues>;

const provider = Type.String({
  pattern: '^[a-z0-9_-]{1,40}$',
  errorMessage: 'must be 1 to 40 lower-case letters, digits, hyphens or underscores',
  description: 'A provider that the installation has configured.',
});
const types = Type.Array(Type.String({ maxLength: 100 }), { maxItems: 500 });
const smsFields = {
  enabled: Type.Boolean(),
  provider,
  sender_id: nullableField(trimmedText(1, 20)),
  notification_types: types,
  daily_limit: Type.Integer({ minimum: 0, maximum: 1_000_000 }),
  quiet_hours: orNull(quietHours),
};
const pushFields = {
  enabled: Type.Boolean(),
  provider,
  notification_types: types,
  dedupe_seconds: Type.Integer({ minimum: 0, maximum: 86_400 }),
  quiet_hours: orNull(quietHours),
};
const emailFields = {
  enabled: Type.Boolean(),
  from: nullableField(Type.String({ format: 'email', maxLength: 254 })),
  notification_types: types,
};
const days = Type.Integer({ minimum: 1, maximum: 3_650 });
const retentionFields = { locations_days: days, notifications_days: days, media_days: days };

export const configBody = Type.Partial(
  Type.Object({
    sms: partial(smsFields),
    push: partial(pushFields),
    email: partial(emailFields),
    retention: partial(retentionFields),
  }),
);
export type ConfigBody = Static<typeof configBody>;

const configFields = {
  sms: Type.Object(smsFields),
  push: Type.Object(pushFields),
  email: Type.Object(emailFields),
  retention: Type.Object(retentionFields),
};
export const configResponseSchema = Type.Object({ ...recordProperties, ...configFields }, { title: 'GlobalConfig' });

const configValues = Type.Object(configFields);
/** The complete configuration of an account. */
export type GlobalConfig = Static<typeof configValues>;
