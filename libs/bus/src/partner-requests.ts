import { Type } from 'typebox';
import { defineRequest } from './contract.ts';
import { deviceCommand, outcome } from './device-command.ts';
import { defineUseCase } from './use-case.ts';

const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });

/** Message ids by which the vendor hub's command channel names its commands, `proNo` (docs/reference/partners.md). */
export const partnerCommandNumbers = {
  /** Defined by the hub: a text command to an online device. */
  onlineText: 128,
  /** 0x8103 */
  setParameters: 33_027,
  /** 0x8105 */
  terminalControl: 33_029,
  /** 0x8300 */
  text: 33_536,
  /** 0x8801 */
  takePictures: 34_817,
  /** 0x9101 */
  startLive: 37_121,
  /** 0x9102 */
  controlLive: 37_122,
  /** 0x9201 */
  startPlayback: 37_377,
  /** 0x9202 */
  controlPlayback: 37_378,
  /** 0x9205 */
  listRecordings: 37_381,
  /** 0x9206 */
  requestUpload: 37_382,
} as const;

/** Values of `code` in responses of the command channel (docs/reference/partners.md). */
export const partnerCodes = {
  success: 0,
  offline: 300,
  timedOut: 301,
  refused: 302,
  parameters: 1001,
  token: 1004,
  tooOften: 1006,
} as const;

/** Returns the owner of a partner token, from its SHA-256 and the address of the request. */
export const verifyPartner = defineRequest({
  subject: 'platform-api.verify-partner',
  request: Type.Object({
    tokenSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
    address: Type.String({ maxLength: 64 }),
  }),
  reply: Type.Union([
    Type.Object({ valid: Type.Literal(true), partnerId: Type.Integer(), accountId: Type.Integer() }),
    Type.Object({ valid: Type.Literal(false) }),
  ]),
});

const partnerCommandFields = {
  partnerId: Type.Integer(),
  accountId: Type.Integer(),
  imei,
  address: Type.String({ maxLength: 64 }),
};

/** Returns platform-api's decision on a partner's command to a device; records the decision in the audit log. */
export const authorizePartnerCommand = defineRequest({
  subject: 'platform-api.admit-partner-command',
  request: Type.Object({
    ...partnerCommandFields,
    proNo: Type.Integer(),
    /** Result of `isCriticalCommand`; a command without it counts as critical. */
    isCritical: Type.Optional(Type.Boolean()),
  }),
  reply: Type.Object({
    isAdmitted: Type.Boolean(),
    /** The partner may command the device, but its `command_level` does not allow this command. */
    isAboveLevel: Type.Optional(Type.Boolean()),
  }),
});

/** Queues a partner's command for a device that is not connected; null if the device has no queue. */
export const queuePartnerCommand = defineUseCase({
  subject: 'platform-api.queue-partner-command',
  request: Type.Object({
    ...partnerCommandFields,
    /** A type of the command queue (docs/reference/commands.md), with its parameters. */
    type: Type.String({ maxLength: 32 }),
    params: Type.Record(Type.String(), Type.Unknown()),
  }),
  result: Type.Object({ commandId: Type.Union([Type.String(), Type.Null()]) }),
});

/** Returns whether a device belongs to a partner whose server commands it. */
export const findPartnerChannel = defineRequest({
  subject: 'platform-api.find-partner-channel',
  request: Type.Object({ imei }),
  reply: Type.Object({ hasChannel: Type.Boolean() }),
});

/** Sends a command to the server of the partner to which the device belongs; `noPartner` for every other device. */
export const sendPartnerCommand = defineRequest({
  subject: 'platform-api.ask-partner',
  request: Type.Object({ imei, command: deviceCommand }),
  reply: Type.Union([outcome, Type.Object({ kind: Type.Literal('noPartner') })]),
});
