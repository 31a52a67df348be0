import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { vehicleStates } from '../last-positions/schema.ts';

/** Permissions of a share link. */
export const linkPermissions = ['location', 'live_video'] as const;

/** One of `linkPermissions`. */
export type LinkPermission = (typeof linkPermissions)[number];

/** Destination of a shared trip. */
interface Destination {
  readonly latitude: number;
  readonly longitude: number;
  readonly name: string | null;
}

/** A link that shows one vehicle to everyone who has it, for a limited time. */
export interface ShareLink extends AccountRecord {
  readonly slug: string;
  /** Id of the user who created it. */
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
  /** True once the view limit has been reached. */
  readonly isUsedUp: boolean;
  readonly lastViewedAt: Date | null;
}

/** Largest number of live links of a vehicle. */
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
    description: 'Length of the track in minutes.',
  }),
  password: Type.Optional(
    nullableField(text(4, 64, { description: 'Required in X-Share-Password to open the link.' })),
  ),
  max_views: Type.Optional(nullableField(Type.Integer({ minimum: 1, maximum: 1_000_000 }))),
  destination: Type.Optional(Type.Union([destination, Type.Null()])),
});
export type CreateBody = Static<typeof createBody>;

export const listQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at', 'expires_at']),
  vehicle_id: Type.Optional(recordId),
  active: Type.Boolean({ default: true, description: 'false: only links that have ended.' }),
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

const sharedVideo = Type.Object({
  stream_url: nullable(
    Type.String({ description: 'HTTP-FLV of the first camera, with a token; null without the permission live_video.' }),
  ),
  ws_flv_url: nullable(Type.String({ description: 'The same over a websocket.' })),
  hls_url: nullable(Type.String({ description: 'The same as HLS, for phones.' })),
  channels: Type.Array(Type.Integer(), {
    description: 'Cameras that these addresses also open, with the channel replaced in the path.',
  }),
});
/** Live video that a link shows. */
export type SharedVideo = Static<typeof sharedVideo>;

/** The fields that a link shows. They include no terminal number, driver, account or id. */
export const sharedViewResponseSchema = Type.Object(
  {
    label: nullable(Type.String()),
    vehicle: Type.Object({ name: Type.String(), vehicle_no: Type.String(), vehicle_type: Type.String() }),
    state: stringEnum(vehicleStates),
    state_since: nullable(Type.Integer({ description: 'Since when, in milliseconds since 1970; null if unknown.' })),
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
    ...sharedVideo.properties,
    ws_url: Type.String(),
    expires_at: time,
  },
  { title: 'SharedView' },
);
export type SharedViewResponse = Static<typeof sharedViewResponseSchema>;
