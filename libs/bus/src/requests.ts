import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';
import { textMessage } from './device-command.ts';
import { uploadUseCases } from './upload-requests.ts';
import { defineUseCase } from './use-case.ts';

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
 * Event in the work queue AUDIT: an API key of the Device API used a device. A command was admitted, or video was
 * watched or deleted.
 */
export const deviceAccessed = defineEvent({
  subject: 'audit.device-used',
  schema: Type.Object({
    /** Random; repeated events become one audit entry. */
    id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    /** Time of the use. */
    atMs: Type.Integer({ minimum: 0 }),
    keyId: Type.Integer(),
    accountId: Type.Integer(),
    /** Canonical number. */
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    address: Type.String({ maxLength: 64 }),
    kind: Type.Union([Type.Literal('command'), Type.Literal('view'), Type.Literal('deletion')]),
    /** `operationId` of the route. */
    operation: Type.String({ maxLength: 64 }),
    channel: Type.Optional(Type.Integer({ minimum: 0 })),
    /** The command, for terminal control. */
    command: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Duration of a view, s. */
    seconds: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
});

/** Payload of `deviceUsed`. */
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

/** Event for every replica of platform-api: these websocket connections are replaced by newer ones of their users. */
export const connectionsDisplaced = defineEvent({
  subject: 'platform-api.connections-displaced',
  schema: Type.Object({ connectionIds: Type.Array(Type.String({ pattern: '^[0-9a-f]{24}$' }), { maxItems: 1_000 }) }),
});

/** Returns the record of a terminal from platform-api; `imei` is the canonical number. */
export const findDevice = defineRequest({
  subject: 'platform-api.find-device',
  request: Type.Object({ imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }) }),
  reply: Type.Object({
    known: Type.Boolean(),
    accountId: Type.Union([Type.Integer(), Type.Null()]),
    /** UTC offset of the terminal's clock; `+08:00` unless its record differs. */
    cameraUtcOffset: Type.String({ pattern: '^[+-]\\d{2}:\\d{2}$' }),
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

/**
 * Event for the media pod that owns a stream: a partner controlled it over JT/T 1078, so timers and viewers follow.
 * Subject: `mediaControlSubject`.
 */
export const mediaControl = defineEvent({
  subject: 'media.*.control',
  schema: Type.Object({
    kind: Type.Union([Type.Literal('live'), Type.Literal('history')]),
    imei: Type.String(),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /**
     * ended: finish the viewers' responses and release the claim. paused, resumed: expect no data, expect data again.
     * restarted: timestamps restart (seek, speed). restarting: the camera is being requested; its first frames may
     * arrive before its response, or it may refuse.
     */
    change: Type.Union([
      Type.Literal('ended'),
      Type.Literal('paused'),
      Type.Literal('resumed'),
      Type.Literal('restarting'),
      Type.Literal('restarted'),
    ]),
    /**
     * With restarting and restarted: `arrival` for playback at a speed other than 1, backwards or in leaps. Unchanged
     * if absent.
     */
    pace: Type.Optional(Type.Union([Type.Literal('device'), Type.Literal('arrival')])),
  }),
});

/** Returns the subject of stream changes for one media pod. */
export const mediaControlSubject = (podId: string): string => `media.${podId}.control`;

/** Sequence number per publisher, to drop events that arrive out of order. Clocks differ between hosts. */
export const eventSequence = Type.Object({
  by: Type.String({ maxLength: 100 }),
  sequence: Type.Integer({ minimum: 1 }),
});

/**
 * Identifies the camera request that caused a stream change (`requestId` of the `StreamRequest`). The requesting and
 * the receiving process differ, so `starting` may arrive after the camera's reaction.
 */
export const streamStartId = Type.String({ maxLength: 64 });

/** Event: state of a live stream, published for each changed field. Lost while the broker is unavailable. */
export const streamChanged = defineEvent({
  subject: 'stream.changed',
  schema: Type.Object({
    /** Canonical number. */
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /** starting: the camera accepted and has sent nothing yet. */
    status: Type.Union([Type.Literal('starting'), Type.Literal('streaming'), Type.Literal('stopped')]),
    /** As in 0x9101: 0 main stream, 1 sub stream. */
    streamType: Type.Integer({ minimum: 0, maximum: 255 }),
    /** Null before the first key frame. */
    video: Type.Union([
      Type.Object({
        codec: Type.Union([Type.Literal('h264'), Type.Literal('h265')]),
        width: Type.Integer({ minimum: 0 }),
        height: Type.Integer({ minimum: 0 }),
      }),
      Type.Null(),
    ]),
    audioCodec: Type.Union([Type.String(), Type.Null()]),
    viewers: Type.Integer({ minimum: 0 }),
    startedAtMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    /** Time of the change by the publisher's clock; several replicas forward it to websockets. */
    atMs: Type.Optional(Type.Integer({ minimum: 0 })),
    order: Type.Optional(eventSequence),
    startId: Type.Optional(streamStartId),
  }),
});

/** Payload of `streamChanged`. */
export type StreamChanged = Static<typeof streamChanged.schema>;

/** Returns the event of a stream that did not start. */
export const streamStatusEvent = (
  { imei, channel }: Pick<StreamChanged, 'imei' | 'channel'>,
  status: 'starting' | 'stopped',
  streamType = 0,
): StreamChanged => ({
  imei,
  channel,
  status,
  streamType,
  video: null,
  audioCodec: null,
  viewers: 0,
  startedAtMs: null,
  atMs: Date.now(),
});

/**
 * Queries the media pod that claimed a stream whether it runs there: a crashed pod's claim remains until it expires.
 */
export const queryStream = (podId: string) =>
  defineRequest({
    subject: `media.${podId}.stream`,
    request: Type.Object({
      kind: Type.Union([Type.Literal('live'), Type.Literal('history')]),
      imei: Type.String(),
      channel: Type.Integer({ minimum: 0, maximum: 255 }),
    }),
    reply: Type.Object({ isRunning: Type.Boolean() }),
  });

/** Canonical terminal number. */
const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const byte = Type.Integer({ minimum: 0, maximum: 255 });
const port = Type.Integer({ minimum: 0, maximum: 65_535 });
/** Milliseconds since 1970, whole seconds. */
const timestampMs = Type.Integer();
/** Unsigned 64-bit number in decimal. */
const uint64 = Type.String({ pattern: '^\\d{1,20}$' });
const dateTime = Type.String();
const generalResponse = Type.Object({
  /** Message id of the command, as `0x9101`. */
  responseId: Type.String(),
  result: Type.Union([
    Type.Literal('success'),
    Type.Literal('failure'),
    Type.Literal('incorrectInfo'),
    Type.Literal('unsupported'),
  ]),
});

/** Use cases of device-api: the functions behind its HTTP routes, for other services. */
export const deviceApi = {
  /** GET /wakeup. */
  wakeUp: defineUseCase({
    subject: 'device-api.wake-up',
    request: Type.Object({ imei }),
    result: Type.Object({ result: Type.Literal('success') }),
  }),
  /** POST /send-control-command. */
  sendControlCommand: defineUseCase({
    subject: 'device-api.send-control-command',
    request: Type.Object({
      imei,
      command: byte,
      /** Separated by `;`, as in the interface. */
      parameters: Type.Union([Type.String({ maxLength: 2048 }), Type.Null()]),
    }),
    result: generalResponse,
  }),
  /** POST /send-text. */
  sendText: defineUseCase({
    subject: 'device-api.send-text',
    request: Type.Object({ imei, ...textMessage }),
    result: generalResponse,
  }),
  /** GET /realtime/start-stream; without `host` and ports the camera streams to this product. */
  startLive: defineUseCase({
    subject: 'device-api.start-live',
    request: Type.Object({
      imei,
      channel: byte,
      dataType: byte,
      streamType: byte,
      host: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
      tcpPort: Type.Optional(port),
      udpPort: Type.Optional(port),
    }),
    result: generalResponse,
  }),
  /** GET /realtime/control-stream. */
  controlLive: defineUseCase({
    subject: 'device-api.control-live',
    request: Type.Object({ imei, channel: byte, control: byte, closeType: byte, streamType: byte }),
    result: generalResponse,
  }),
  /** GET /history/list-videos; times are in the camera's offset, `cameraUtcOffset`. */
  listRecordings: defineUseCase({
    subject: 'device-api.list-recordings',
    request: Type.Object({
      imei,
      channel: byte,
      startMs: timestampMs,
      endMs: timestampMs,
      resourceType: byte,
      streamType: byte,
      memoryType: byte,
      alarmFlags: uint64,
    }),
    result: Type.Object({
      cameraUtcOffset: Type.String(),
      recordings: Type.Array(
        Type.Object({
          channel: byte,
          startTime: dateTime,
          endTime: dateTime,
          alarmFlags: uint64,
          resourceType: byte,
          streamType: byte,
          memoryType: byte,
          fileSizeBytes: Type.Integer(),
        }),
      ),
    }),
  }),
  /** GET /history/start-stream; without `host` and ports the camera streams to this product. */
  startPlayback: defineUseCase({
    subject: 'device-api.start-playback',
    request: Type.Object({
      imei,
      channel: byte,
      startMs: timestampMs,
      endMs: timestampMs,
      resourceType: byte,
      streamType: byte,
      memoryType: byte,
      playbackMode: byte,
      speed: byte,
      host: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
      tcpPort: Type.Optional(port),
      udpPort: Type.Optional(port),
    }),
    result: generalResponse,
  }),
  /** GET /history/control-stream; `seekMs` with control 5. */
  controlPlayback: defineUseCase({
    subject: 'device-api.control-playback',
    request: Type.Object({
      imei,
      channel: byte,
      control: byte,
      speed: byte,
      seekMs: Type.Optional(timestampMs),
    }),
    result: generalResponse,
  }),
  ...uploadUseCases,
};
