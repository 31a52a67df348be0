import { type Static, Type } from 'typebox';
import type { AccountRecord } from '../../store/account-records.ts';

/** What a shared user may do with a vehicle, beside seeing it (platform-contract.md, section 6). */
export const sharePermissions = ['view', 'live_video', 'history_video', 'notifications', 'commands'] as const;

/** One of `sharePermissions`. */
export type SharePermission = (typeof sharePermissions)[number];

/** A vehicle of the record's account, shared with one user, who may be of another account. */
export interface Share extends AccountRecord {
  /** `<vehicle id>:<secondary user id>`: a vehicle is shared with a user once. */
  readonly pair: string;
  /** The vehicle's owning user when it was shared. */
  readonly ownerUserId: number;
  readonly sharedByUserId: number;
  readonly secondaryUserId: number;
  readonly vehicleId: number;
  readonly permissions: readonly SharePermission[];
  readonly expiresAt: Date | null;
}

const secondaryUser = Type.Integer({
  minimum: 1,
  alias: 'secondaryUser',
  description: 'Id of the user who is given access.',
});

export const searchUserBody = Type.Object({
  phone_number: Type.String({
    minLength: 1,
    maxLength: 40,
    alias: 'phoneNumber',
    description: 'The number in international format; only the exact number is found.',
  }),
});

export const shareBody = Type.Object({
  secondary_user: secondaryUser,
  vehicles: Type.Array(Type.Integer({ minimum: 1 }), { minItems: 1, maxItems: 200 }),
  permissions: Type.Optional(
    Type.Array(Type.Unsafe<SharePermission>({ type: 'string', enum: [...sharePermissions] }), {
      maxItems: 20,
      description: '`view` is always included. Default: view and notifications.',
    }),
  ),
  expires_at: Type.Optional(
    Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'When the access ends by itself; null: never.',
    }),
  ),
});
export type ShareBody = Static<typeof shareBody>;

export const unshareBody = Type.Object({
  secondary_user: secondaryUser,
  vehicles: Type.Optional(
    Type.Array(Type.Integer({ minimum: 1 }), { maxItems: 200, description: 'Absent: all that are shared.' }),
  ),
});

const recordFields = {
  id: Type.Integer(),
  created_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  version: Type.Integer(),
};

export const shareShown = Type.Object(
  {
    ...recordFields,
    owner_user_id: Type.Integer(),
    secondary_user_id: Type.Integer(),
    vehicle_id: Type.Integer(),
    vehicle_no: Type.String(),
    permissions: Type.Array(Type.String()),
    expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
  },
  { title: 'Share' },
);
export type ShareShown = Static<typeof shareShown>;

export const foundUser = Type.Object({
  id: Type.Integer(),
  name: Type.String({ description: 'Masked: the first letter and ***.' }),
  phone_number: Type.String({ description: 'Masked but for its last digits.' }),
  avatar_url: Type.Union([Type.String(), Type.Null()]),
});

export const sharedUser = Type.Object({
  id: Type.Integer({ description: 'Id of the user.' }),
  name: Type.String(),
  phone_number: Type.Union([Type.String(), Type.Null()]),
  vehicles: Type.Array(shareShown),
});

export const removedShares = Type.Object({ removed: Type.Array(Type.Integer(), { description: 'Ids of vehicles.' }) });
