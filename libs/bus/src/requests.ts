import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';
import { textMessage } from './device-command.ts';
import { uploadUseCases } from './upload-requests.ts';
import { defineUseCase } from './use-case.ts';

const sha256Hex = Type.String({ pattern: '^[0-9a-f]{64}$' });

/** Asks platform-api whether an API key is valid; only its SHA-256 travels. */
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

/** Revokes an API key: the use case behind DELETE /api/api-keys/:id. */
export const revokeKey = defineRequest({
  subject: 'platform-api.revoke-key',
  request: Type.Object({ keySha256: sha256Hex }),
  reply: Type.Object({ revoked: Type.Boolean() }),
});

/** Tells every process that caches answers of `verifyKey` that one of them no longer holds. */
export const keyRevoked = defineEvent({
  subject: 'platform-api.key-revoked',
  schema: Type.Object({ keySha256: sha256Hex, keyId: Type.Optional(Type.Integer()) }),
});

/**
 * Tells platform-api what was done with a device by an API key of the Device API, for the audit log: a command that was admitted, video that was watched or deleted.
 * Stored in the work queue AUDIT.
 */
export const deviceAccessed = defineEvent({
  subject: 'audit.device-used',
  schema: Type.Object({
    /** Random; what is told once more is one entry. */
    id: Type.String({ pattern: '^[0-9a-f]{32}$' }),
    /** When it was done. */
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
    /** Of a terminal control command: which. */
    command: Type.Optional(Type.Integer({ minimum: 0 })),
    /** Of a view: how long. */
    seconds: Type.Optional(Type.Integer({ minimum: 0 })),
  }),
});

/** Payload of `deviceUsed`. */
export type DeviceAccessEvent = Static<typeof deviceAccessed.schema>;

/**
 * Tells every replica of platform-api that what it remembers of a user no longer holds: logged out, disabled, another role, account suspended. The one that is
 * named: a session, all sessions of a user, or all users of an account.
 */
export const accessChanged = defineEvent({
  subject: 'platform-api.access-changed',
  schema: Type.Object({
    accountId: Type.Optional(Type.Integer()),
    userId: Type.Optional(Type.Integer()),
    sessionId: Type.Optional(Type.Integer()),
  }),
});

/** Tells every replica of platform-api which websocket connections have to give way to newer ones of their users. */
export const connectionsDisplaced = defineEvent({
  subject: 'platform-api.connections-displaced',
  schema: Type.Object({ connectionIds: Type.Array(Type.String({ pattern: '^[0-9a-f]{24}$' }), { maxItems: 1_000 }) }),
});

/** Asks platform-api for what is on record about a terminal; `imei` is the canonical number. */
export const findDevice = defineRequest({
  subject: 'platform-api.find-device',
  request: Type.Object({ imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }) }),
  reply: Type.Object({
    known: Type.Boolean(),
    accountId: Type.Union([Type.Integer(), Type.Null()]),
    /** The terminal's own clock, `+08:00` unless its record says otherwise. */
    cameraUtcOffset: Type.String({ pattern: '^[+-]\\d{2}:\\d{2}$' }),
  }),
});

/** Tells every replica of platform-api that a command waits for a terminal. */
export const commandQueued = defineEvent({
  subject: 'platform-api.command-queued',
  schema: Type.Object({ imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }) }),
});

/** Tells a gateway pod that a newer session has taken a terminal over: it closes its own. Subject: `gatewayFenceSubject`. */
export const fenceSession = defineEvent({
  subject: 'gateway.*.fence',
  schema: Type.Object({ imei: Type.String(), sessionId: Type.String() }),
});

/** Where one gateway pod hears of fenced sessions. */
export const gatewayFenceSubject = (podId: string): string => `gateway.${podId}.fence`;

/** Tells the media pod that owns a stream what a partner did to it over JT/T 808, so that timers and viewers follow. Subject: `mediaControlSubject`. */
export const mediaControl = defineEvent({
  subject: 'media.*.control',
  schema: Type.Object({
    kind: Type.Union([Type.Literal('live'), Type.Literal('history')]),
    imei: Type.String(),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /**
     * ended: finish the viewers' responses, give up the claim. paused/resumed: no data is expected / is expected again. restarted: timestamps begin anew
     * (seek, speed). restarting: they are about to, as the camera is being asked; its first frames may come before its answer, or it may refuse.
     */
    change: Type.Union([
      Type.Literal('ended'),
      Type.Literal('paused'),
      Type.Literal('resumed'),
      Type.Literal('restarting'),
      Type.Literal('restarted'),
    ]),
    /** With restarting and restarted: `arrival` for a recording that plays at a speed other than 1, backwards or in leaps. As it was when left out. */
    pace: Type.Optional(Type.Union([Type.Literal('device'), Type.Literal('arrival')])),
  }),
});

/** Where one media pod hears of changes to its streams. */
export const mediaControlSubject = (podId: string): string => `media.${podId}.control`;

/** The place of what one process tells among all that it tells: what has been overtaken on its way is known by that. Clocks would not tell, as they differ. */
export const eventSequence = Type.Object({
  by: Type.String({ maxLength: 100 }),
  sequence: Type.Integer({ minimum: 1 }),
});

/**
 * The asking of a camera that a change of a stream goes back to (`requestId` of the `StreamRequest`): who asks it and who takes its video are two processes, so `starting`
 * may come behind what the camera has done then.
 */
export const streamStartId = Type.String({ maxLength: 64 });

/** How a live stream goes on, for whoever shows it: each change of a field is told. Lost when the broker is away. */
export const streamChanged = defineEvent({
  subject: 'stream.changed',
  schema: Type.Object({
    /** Canonical number. */
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /** starting: the camera has agreed and has not sent anything yet. */
    status: Type.Union([Type.Literal('starting'), Type.Literal('streaming'), Type.Literal('stopped')]),
    /** As in 0x9101: 0 main stream, 1 sub stream. */
    streamType: Type.Integer({ minimum: 0, maximum: 255 }),
    /** Null while no key frame has come. */
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
    /** When it changed, by the clock of whoever tells of it: several replicas tell websockets on. */
    atMs: Type.Optional(Type.Integer({ minimum: 0 })),
    order: Type.Optional(eventSequence),
    startId: Type.Optional(streamStartId),
  }),
});

/** Payload of `streamChanged`. */
export type StreamChanged = Static<typeof streamChanged.schema>;

/** What is told of a stream that has not begun, or never did. */
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

/** Asks the media pod that has claimed a stream whether it runs there: a pod that died leaves its claim behind until that expires. */
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
  /** Message id of the command that was answered, as `0x9101`. */
  responseId: Type.String(),
  result: Type.Union([
    Type.Literal('success'),
    Type.Literal('failure'),
    Type.Literal('incorrectInfo'),
    Type.Literal('unsupported'),
  ]),
});

/** The use cases of device-api: what its HTTP routes do, for services of the house. */
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
      /** Separated by `;`, as the interface has them. */
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
  /** GET /realtime/start-stream; without `host` and ports the camera streams to us. */
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
  /** GET /history/list-videos; times are shown in the camera's offset, which stands in `cameraUtcOffset`. */
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
  /** GET /history/start-stream; without `host` and ports the camera streams to us. */
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
