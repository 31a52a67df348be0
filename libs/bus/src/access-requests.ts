import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';

const sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** Validates an API key at platform-api by its SHA-256. */
export const verifyKey = defineRequest({
  subject: 'platform-api.verify-key',
  request: Type.Object({ keySha256: sha256Hex }),
  reply: Type.Union([
    Type.Object({
      valid: Type.Literal(true),
      keyId: Type.Integer(),
      accountId: Type.Integer(),
      scopes: Type.Array(Type.String()),
      ipAllowlist: Type.Array(Type.String()),
    }),
    Type.Object({ valid: Type.Literal(false) }),
  ]),
});

/** Revokes an API key: the use case of DELETE /api/api-keys/:id. */
export const revokeKey = defineRequest({
  subject: 'platform-api.revoke-key',
  request: Type.Object({ keySha256: sha256Hex }),
  reply: Type.Object({ revoked: Type.Boolean() }),
});

/** Event: a cached reply of `verifyKey` is no longer valid, for every process that caches it. */
export const keyRevoked = defineEvent({
  subject: 'platform-api.key-revoked',
  schema: Type.Object({ keySha256: sha256Hex, keyId: Type.Optional(Type.Integer()) }),
});

/**
 * Event in the work queue AUDIT: a caller of the Device API or the video service used a device. A command was admitted,
 * a talk began or ended, or video was watched or deleted. The caller is an API key, a user with one, or a guest of a share link.
 */
export const deviceAccessed = defineEvent({
  subject: 'audit.device-used',
  schema: Type.Object({
    /** Random; repeated events become one audit entry. */
    id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    /** Time of the use. */
    atMs: Type.Integer({ minimum: 0 }),
    keyId: Type.Optional(Type.Integer()),
    userId: Type.Optional(Type.Integer()),
    linkId: Type.Optional(Type.Integer()),
    /** Account of the vehicle, or of the caller for a device without one. */
    accountId: Type.Integer(),
    /** Canonical number. */
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    address: Type.String({ maxLength: 64 }),
    kind: Type.Union([
      Type.Literal('command'),
      Type.Literal('talk'),
      Type.Literal('talkEnd'),
      Type.Literal('view'),
      Type.Literal('deletion'),
    ]),
    /** `operationId` of the route. */
    operation: Type.String({ maxLength: 64 }),
    channel: Type.Optional(Type.Integer({ minimum: 0 })),
    /** The command, for terminal control. */
    command: Type.Optional(Type.Integer({ minimum: 0 })),
    /** True if the caller took over the talk of another one. */
    isForced: Type.Optional(Type.Boolean()),
    /** Duration of a view or a talk, s. */
    seconds: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
});

/** Payload of `deviceAccessed`. */
export type DeviceAccessEvent = Static<typeof deviceAccessed.schema>;

/**
 * Event for every replica of platform-api: cached access of a user is no longer valid (log-out, disabled user, changed
 * role, suspended account). Names a session, all sessions of a user, or all users of an account.
 */
export const accessChanged = defineEvent({
  subject: 'platform-api.access-changed',
  schema: Type.Object({
    accountId: Type.Optional(Type.Integer()),
    userId: Type.Optional(Type.Integer()),
    sessionId: Type.Optional(Type.Integer()),
  }),
});

/** Event for every replica of platform-api and device-api: guests of a share link have lost access. */
export const shareLinkRevoked = defineEvent({
  subject: 'platform-api.share-link-revoked',
  schema: Type.Object({ linkId: Type.Integer() }),
});

/** Event for every replica of platform-api: these websocket connections are replaced by newer ones of their users. */
export const connectionsDisplaced = defineEvent({
  subject: 'platform-api.connections-displaced',
  schema: Type.Object({ connectionIds: Type.Array(Type.String({ pattern: '^[0-9a-f]{24}$' }), { maxItems: 1_000 }) }),
});
