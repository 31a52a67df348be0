import { type Static, Type } from 'typebox';
import { defineUseCase } from './use-case.ts';

const id = Type.Integer({ minimum: 1 });
const nullableId = Type.Union([id, Type.Null()]);
const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });
const address = Type.String({ maxLength: 64 });
const header = Type.Optional(Type.String({ maxLength: 8192 }));

const userCaller = Type.Object({
  kind: Type.Literal('user'),
  accountId: id,
  userId: id,
  sessionId: nullableId,
  mintedByKeyId: nullableId,
  keyId: nullableId,
});
const caller = Type.Union([
  userCaller,
  Type.Object({ kind: Type.Literal('key'), accountId: id, keyId: id }),
  Type.Object({ kind: Type.Literal('link'), linkId: id }),
]);

/** Camera of a vehicle, as its record describes it. */
const channelFlags = Type.Object({
  channelId: Type.Integer({ minimum: 1, maximum: 255 }),
  enabled: Type.Boolean(),
  hasAudio: Type.Boolean(),
});

const videoAccess = Type.Object({
  /** Account of the caller: the vehicle's own, or that of a user with a share. */
  accountId: id,
  /** Role of a user; null for other callers. */
  role: Type.Union([Type.String(), Type.Null()]),
  /** Null without a device in the request. */
  imei: Type.Union([imei, Type.Null()]),
  /** Null for a device without a vehicle. */
  vehicleId: nullableId,
  vehicleAccountId: nullableId,
  rights: Type.Object({
    /** Start and watch live video. */
    live: Type.Boolean(),
    /** List and play recordings, media and downloads. */
    history: Type.Boolean(),
    /** Capture, upload, talk, convert. */
    command: Type.Boolean(),
  }),
  /** Cameras of the vehicle; empty if none are recorded. */
  channels: Type.Array(channelFlags),
  /** When a share or a share link ends; null for never. */
  expiresAtMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
});

/** Returns the channels that guests of a share link may watch: the enabled ones, or the first if none are recorded. */
export const guestChannels = (
  channels: readonly Pick<Static<typeof channelFlags>, 'channelId' | 'enabled'>[],
): number[] =>
  channels.length === 0 ? [1] : channels.filter(({ enabled }) => enabled).map(({ channelId }) => channelId);

/** What a caller may do with the video of a device. */
export type VideoAccess = Static<typeof videoAccess>;

/** A right on the video of a device. */
export type VideoRight = keyof VideoAccess['rights'];

const sessionCredentials = Type.Object({
  keySha256: sha256Hex,
  /** Headers of the request. */
  authorization: Type.String({ maxLength: 8192 }),
  origin: header,
  referer: header,
  fetchSite: header,
  /** `X-Account-Id`: another account in which staff act. */
  actedAccountId: header,
  address,
});

/** Request of `verifySession`. */
export type SessionCredentials = Static<typeof sessionCredentials>;

/**
 * Identifies the user of a bearer token beside an API key, with the origin check of dashboard keys. Only the key's
 * SHA-256 leaves the video service. Errors have the Platform API's codes.
 */
export const verifySession = defineUseCase({
  subject: 'platform-api.verify-session',
  request: sessionCredentials,
  result: Type.Object({ caller: userCaller, scopes: Type.Array(Type.String()) }),
});

/**
 * Returns what a caller may do with a device now. Without a device, it only checks that the caller is still valid; a
 * share link names its device. Errors have the Platform API's codes.
 */
export const authorizeVideo = defineUseCase({
  subject: 'platform-api.authorize-video',
  request: Type.Object({ caller, imei: Type.Optional(imei), address: Type.Optional(address) }),
  result: videoAccess,
});

/** Caller of `authorizeVideo`. */
export type KnownVideoCaller = Static<typeof caller>;
