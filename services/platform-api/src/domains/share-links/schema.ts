import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { vehicleStates } from '../last-positions/schema.ts';

/** What a share link shows. */
export const linkPermissions = ['location', 'live_video'] as const;

/** One of `linkPermissions`. */
export type LinkPermission = (typeof linkPermissions)[number];

/** Where a shared drive goes. */
export interface Destination {
  readonly latitude: number;
  readonly longitude: number;
  readonly name: string | null;
}

/** A link under which anyone who has it sees one vehicle for a while. */
export interface ShareLink extends AccountRecord {
  readonly slug: string;
  /** Who has made it. */
  readonly userId: number;
  readonly vehicleId: number;
  readonly label: string | null;
  readonly permissions: readonly LinkPermission[];
  readonly historyMinutes: number;
  readonly maxViews: number | null;
  /** argon2id in PHC form. */
  readonly passwordHash: string | null;
  readonly destination: Destination | null;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  readonly viewCount: number;
  /** True once the views are used up. */
  readonly isUsedUp: boolean;
  readonly lastViewedAt: Date | null;
}

/** Live links of a vehicle, at most. */
export const maxLiveLinks = 50;

const destination = Type.Object({
  latitude: Type.Number({ minimum: -90, maximum: 90 }),
  longitude: Type.Number({ minimum: -180, maximum: 180 }),
  name: Type.Optional(nullableField(trimmedText(0, 200))),
});

export const createBody = Type.Object({
  vehicle_id: recordId,
  expires_in_hours: Type.Integer({ minimum: 1, maximum: 720, default: 24 }),
  label: Type.Optional(nullableField(trimmedText(0, 100))),
  permissions: Type.Optional(Type.Array(stringEnum(linkPermissions), { minItems: 1, maxItems: 10 })),
  history_minutes: Type.Integer({
    minimum: 0,
    maximum: 1_440,
    default: 30,
    description: 'How far back the track goes.',
  }),
  password: Type.Optional(nullableField(text(4, 64, { description: 'Asked for in X-Share-Password.' }))),
  max_views: Type.Optional(nullableField(Type.Integer({ minimum: 1, maximum: 1_000_000 }))),
  destination: Type.Optional(Type.Union([destination, Type.Null()])),
});
export type CreateBody = Static<typeof createBody>;

export const listQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at', 'expires_at']),
  vehicle_id: Type.Optional(recordId),
  active: Type.Boolean({ default: true, description: 'false: those that have ended.' }),
});

const destinationResponseSchema = Type.Object({
  latitude: Type.Number(),
  longitude: Type.Number(),
  name: nullable(Type.String()),
});

export const linkResponseSchema = Type.Object(
  {
    ...recordProperties,
    slug: Type.String(),
    url: Type.String(),
    vehicle_id: recordId,
    label: nullable(Type.String()),
    permissions: Type.Array(stringEnum(linkPermissions)),
    history_minutes: Type.Integer(),
    max_views: nullable(Type.Integer()),
    has_password: Type.Boolean(),
    destination: nullable(destinationResponseSchema),
    expires_at: time,
    revoked_at: nullable(time),
    view_count: Type.Integer(),
    last_viewed_at: nullable(time),
  },
  { title: 'ShareLink' },
);
export type LinkResponse = Static<typeof linkResponseSchema>;

/** What who has the link may see: no number of a terminal, no driver, no account, no id. */
export const sharedViewResponseSchema = Type.Object(
  {
    label: nullable(Type.String()),
    vehicle: Type.Object({ name: Type.String(), vehicle_no: Type.String(), vehicle_type: Type.String() }),
    state: stringEnum(vehicleStates),
    location: nullable(
      Type.Object({
        latitude: Type.Number(),
        longitude: Type.Number(),
        speed: Type.Number(),
        course: Type.Integer(),
        timestamp: Type.Integer(),
      }),
    ),
    track: Type.Array(Type.Array(Type.Number(), { minItems: 3, maxItems: 3 }), {
      description: 'Latitude, longitude and milliseconds since 1970 of each point.',
    }),
    destination: nullable(destinationResponseSchema),
    eta: nullable(time),
    permissions: Type.Array(stringEnum(linkPermissions)),
    stream_url: nullable(Type.String()),
    ws_url: Type.String(),
    expires_at: time,
  },
  { title: 'SharedView' },
);
export type SharedViewResponse = Static<typeof sharedViewResponseSchema>;
