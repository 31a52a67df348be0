import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField, stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';
import { sortable } from '../vehicles/schema.ts';

/** What a shared user may do with a vehicle, besides seeing it (docs/reference/sharing.md). */
export const sharePermissions = ['view', 'live_video', 'history_video', 'notifications', 'commands'] as const;

/** One of `sharePermissions`. */
export type SharePermission = (typeof sharePermissions)[number];

/** A vehicle of the record's account that is shared with one user, possibly of another account. */
export interface Share extends AccountRecord {
  /** `<vehicle id>:<secondary user id>`: a vehicle is shared with a user only once. */
  readonly pair: string;
  readonly sharedByUserId: number;
  readonly secondaryUserId: number;
  /** The account of the secondary user. */
  readonly secondaryAccountId: number;
  readonly vehicleId: number;
  readonly permissions: readonly SharePermission[];
  readonly expiresAt: Date | null;
}

const secondaryUser = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  alias: 'secondaryUser',
  description: 'Id of the user who gets access.',
});

export const searchUserBody = Type.Object({
  phone_number: Type.String({
    minLength: 1,
    maxLength: 40,
    alias: 'phoneNumber',
    description: 'The exact number in international format.',
  }),
});

export const shareBody = Type.Object({
  secondary_user: secondaryUser,
  vehicles: Type.Array(recordId, { minItems: 1, maxItems: 200 }),
  permissions: Type.Optional(
    Type.Array(stringEnum(sharePermissions), {
      maxItems: 20,
      description: 'Permissions of the user; `view` is always included. Default: view and notifications.',
    }),
  ),
  expires_at: Type.Optional(
    nullableField(Type.String({ format: 'date-time', description: 'When the access expires; null for never.' })),
  ),
});
export type ShareBody = Static<typeof shareBody>;

export const unshareBody = Type.Object({
  secondary_user: secondaryUser,
  vehicles: Type.Optional(
    Type.Array(recordId, {
      maxItems: 10_000,
      description: 'Vehicles to stop sharing. Default: all vehicles shared with the user.',
    }),
  ),
});
export type UnshareBody = Static<typeof unshareBody>;

export const sharedUsersQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'name']),
  vehicle_id: Type.Optional(recordId),
});
export type SharedUsersQuery = Static<typeof sharedUsersQuery>;

export const sharedVehiclesQuery = Type.Object({ ...paginationQuery, sort: sortParameter(sortable) });
export type SharedVehiclesQuery = Static<typeof sharedVehiclesQuery>;

export const userIdParams = Type.Object({ userId: recordId });

export const shareResponseSchema = Type.Object(
  {
    ...recordProperties,
    owner_user_id: recordId,
    secondary_user_id: recordId,
    vehicle_id: recordId,
    vehicle_no: Type.String(),
    permissions: Type.Array(stringEnum(sharePermissions)),
    expires_at: nullable(time),
  },
  { title: 'Share' },
);
export type ShareResponse = Static<typeof shareResponseSchema>;

export const foundUser = Type.Object(
  {
    id: recordId,
    name: Type.String({ description: 'The first letter, followed by ***.' }),
    phone_number: Type.String({ description: 'Masked except for the last four digits.' }),
    avatar_url: nullable(Type.String()),
  },
  { title: 'FoundUser' },
);

export const sharedUser = Type.Object(
  {
    id: Type.Integer({ description: 'Id of the user.' }),
    name: Type.String({ description: 'Masked for a user of another account.' }),
    phone_number: nullable(Type.String({ description: 'Masked for a user of another account.' })),
    vehicles: Type.Array(shareResponseSchema),
  },
  { title: 'SharedUser' },
);
export type SharedUser = Static<typeof sharedUser>;

export const removedShares = Type.Object(
  { removed: Type.Array(recordId, { description: 'Ids of the vehicles that are no longer shared.' }) },
  { title: 'RemovedShares' },
);
