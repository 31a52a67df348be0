import { Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';

/** Returns the record of a terminal from platform-api; `imei` is the canonical number. */
export const findDevice = defineRequest({
  subject: 'platform-api.find-device',
  request: Type.Object({ imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }) }),
  reply: Type.Object({
    known: Type.Boolean(),
    accountId: Type.Union([Type.Integer(), Type.Null()]),
    vehicleId: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    /** UTC offset of the terminal's clock; `+08:00` unless its record differs. */
    cameraUtcOffset: Type.String({ pattern: '^[+-]\\d{2}:\\d{2}$' }),
    /** Limit on concurrent streams of the account; absent without a limit of its own. */
    maxStreams: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
});

/** Event for every replica of platform-api: a command is queued for a terminal. */
export const commandQueued = defineEvent({
  subject: 'platform-api.command-queued',
  schema: Type.Object({ imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }) }),
});

/**
 * Event for a gateway pod: a newer session has taken over a terminal, so the pod closes its own. Subject:
 * `gatewayFenceSubject`.
 */
export const fenceSession = defineEvent({
  subject: 'gateway.*.fence',
  schema: Type.Object({ imei: Type.String(), sessionId: Type.String() }),
});

/** Returns the subject of fenced sessions for one gateway pod. */
export const gatewayFenceSubject = (podId: string): string => `gateway.${podId}.fence`;
