import { Type } from 'typebox';
import { textMessage } from './device-command.ts';
import { uploadUseCases } from './upload-requests.ts';
import { defineUseCase } from './use-case.ts';

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
      /** The caller who chose the stream type: a running stream of another type is switched. */
      switchedBy: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
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
