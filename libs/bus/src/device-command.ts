import { type Static, Type } from 'typebox';
import { compileCheck, defineEvent } from './contract.ts';

const byte = Type.Integer({ minimum: 0, maximum: 255 });
const port = Type.Integer({ minimum: 0, maximum: 65_535 });
const dword = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const hexBytes = (maxBytes: number) => Type.String({ pattern: '^([0-9A-Fa-f]{2})*$', maxLength: 2 * maxBytes });
const address = Type.String({ minLength: 1, maxLength: 255 });
/** Camera-clock time as 12 digits YYMMDDhhmmss; null where the standard allows "no bound". */
const cameraTime = Type.Union([Type.String({ pattern: '^\\d{12}$' }), Type.Null()]);
/** Unsigned 64-bit number in decimal: JSON numbers are not exact there. */
const uint64 = Type.String({ pattern: '^\\d{1,20}$' });

/** Content of a text message, 0x8300; `options` null: an emergency message. */
export const textMessage = {
  text: Type.String({ minLength: 1, maxLength: 1024 }),
  textType: Type.Union([Type.Literal('Notification'), Type.Literal('Service'), Type.Null()]),
  options: Type.Union([
    Type.Object({
      emergency: Type.Boolean(),
      displayByTerminal: Type.Boolean(),
      tts: Type.Boolean(),
      displayByAdvertisingScreen: Type.Boolean(),
      centralNavigationInfo: Type.Boolean(),
    }),
    Type.Null(),
  ]),
};

/**
 * Commands that a gateway sends to a terminal, by meaning and not by frame: the gateway knows the terminal's edition
 * and encodes accordingly. Values are those of the JT/T 808 and 1078 tables.
 */
export const deviceCommand = Type.Union([
  /**
   * A harmless query that wakes a sleeping terminal: 0x8204 (2019) or 0x8201 (2011, 2013), repeated until the terminal
   * responds.
   */
  Type.Object({ kind: Type.Literal('wakeUp') }),
  /** 0x9101 */
  Type.Object({
    kind: Type.Literal('startLive'),
    server: address,
    tcpPort: port,
    udpPort: port,
    channel: byte,
    dataType: byte,
    streamType: byte,
  }),
  /** 0x9102 */
  Type.Object({ kind: Type.Literal('controlLive'), channel: byte, control: byte, closeType: byte, streamType: byte }),
  /** 0x9201 */
  Type.Object({
    kind: Type.Literal('startPlayback'),
    server: address,
    tcpPort: port,
    udpPort: port,
    channel: byte,
    mediaType: byte,
    streamType: byte,
    storageType: byte,
    playbackMode: byte,
    speed: byte,
    startTime: cameraTime,
    endTime: cameraTime,
  }),
  /** 0x9202 */
  Type.Object({
    kind: Type.Literal('controlPlayback'),
    channel: byte,
    control: byte,
    speed: byte,
    seekTime: cameraTime,
  }),
  /** 0x9205 */
  Type.Object({
    kind: Type.Literal('listRecordings'),
    channel: byte,
    startTime: cameraTime,
    endTime: cameraTime,
    alarmFlags: uint64,
    mediaType: byte,
    streamType: byte,
    storageType: byte,
  }),
  /** 0x9206 */
  Type.Object({
    kind: Type.Literal('requestUpload'),
    server: address,
    port,
    username: Type.String({ maxLength: 255 }),
    password: Type.String({ maxLength: 255 }),
    path: Type.String({ maxLength: 255 }),
    channel: byte,
    startTime: cameraTime,
    endTime: cameraTime,
    alarmFlags: uint64,
    mediaType: byte,
    streamType: byte,
    storageType: byte,
    conditions: byte,
  }),
  /** 0x9207; `uploadSerialNo` is the header serial of the 0x9206 in question. */
  Type.Object({ kind: Type.Literal('controlUpload'), uploadSerialNo: port, control: byte }),
  /** 0x8105 */
  Type.Object({
    kind: Type.Literal('terminalControl'),
    command: byte,
    parameters: Type.Union([Type.String({ maxLength: 2048 }), Type.Null()]),
  }),
  /** 0x8300, flags and text type by edition (JT/T 808 reference, section 11). */
  Type.Object({
    kind: Type.Literal('sendText'),
    ...textMessage,
  }),
  /** 0x9003 */
  Type.Object({ kind: Type.Literal('queryAvAttributes') }),
  /** 0x8801; `count` 0 stops, 65535 films, else the number of pictures. */
  Type.Object({
    kind: Type.Literal('takePictures'),
    channel: byte,
    count: port,
    intervalSeconds: port,
    isStored: Type.Boolean(),
    resolution: byte,
    quality: byte,
    brightness: byte,
    contrast: byte,
    saturation: byte,
    chroma: byte,
  }),
  /** 0x8103 */
  Type.Object({
    kind: Type.Literal('setParameters'),
    parameters: Type.Array(Type.Object({ id: dword, valueHex: hexBytes(255) }), { minItems: 1, maxItems: 100 }),
  }),
  /** 0x8106, or 0x8104 without ids: all parameters. */
  Type.Object({ kind: Type.Literal('queryParameters'), parameterIds: Type.Array(dword, { maxItems: 255 }) }),
  /** 0x8107 */
  Type.Object({ kind: Type.Literal('queryAttributes') }),
  /** 0x8201 */
  Type.Object({ kind: Type.Literal('queryLocation') }),
  /** 0x8203, not before 2013; serial 0: all alarms of the types, which are bits of the alarm word of 0x0200. */
  Type.Object({ kind: Type.Literal('confirmAlarm'), alarmSerialNo: port, alarmTypes: dword }),
  /** 0x9208 of T/JSATL 12-2017: the attachments of an alarm; the tag as the alarm had it. */
  Type.Object({
    kind: Type.Literal('requestAttachments'),
    server: address,
    tcpPort: port,
    udpPort: port,
    tagHex: hexBytes(64),
    /** 32 characters. */
    alarmNo: Type.String({ pattern: '^[0-9a-f]{32}$' }),
  }),
  /** 0x8500 for the doors, which the editions encode in opposite ways. */
  Type.Object({ kind: Type.Literal('controlDoors'), isLocked: Type.Boolean() }),
  /** Any platform message, sent unchanged. */
  Type.Object({ kind: Type.Literal('raw'), messageId: port, bodyHex: hexBytes(16_384) }),
]);

/** One command to a terminal. */
export type DeviceCommand = Static<typeof deviceCommand>;

/** Command of one kind. */
export type DeviceCommandOf<K extends DeviceCommand['kind']> = Extract<DeviceCommand, { kind: K }>;

/** Response of a terminal: a result code (0x0001), a message of its own (0x1205 …), or both. */
const deviceResponse = Type.Object({
  /** Message id of the command, such as 0x9101. */
  commandMessageId: port,
  /** Header serial of the command's frame. */
  commandSerialNo: port,
  /** Result of the terminal general response 0x0001 (0 success, 1 failure, 2 incorrect, 3 unsupported); null when only a message came. */
  result: Type.Union([byte, Type.Null()]),
  /** The specific response, reassembled and not decoded; it was validated. */
  message: Type.Union([
    Type.Object({
      id: port,
      edition: Type.Union([Type.Literal('2011'), Type.Literal('2013'), Type.Literal('2019')]),
      bodyBase64: Type.String(),
    }),
    Type.Null(),
  ]),
});

/** Response of a terminal. */
export type DeviceResponse = Static<typeof deviceResponse>;

/** Every outcome of a command; a gateway replies with exactly one of them. */
export const outcome = Type.Union([
  Type.Object({ kind: Type.Literal('answered'), answer: deviceResponse }),
  /** No session, or the session ended before the frame was written. */
  Type.Object({ kind: Type.Literal('notConnected') }),
  /** The frame was written, and no response arrived in time. */
  Type.Object({ kind: Type.Literal('timedOut') }),
  /** The response cannot be decoded. */
  Type.Object({ kind: Type.Literal('unreadable'), detail: Type.String() }),
  /**
   * The gateway refuses to send it: the command cannot be encoded for this terminal (the caller's fault), or the
   * gateway failed (`isOurFault`).
   */
  Type.Object({ kind: Type.Literal('refused'), detail: Type.String(), isOurFault: Type.Optional(Type.Boolean()) }),
  /** Too many commands are pending for this terminal, or the gateway is draining. */
  Type.Object({ kind: Type.Literal('busy'), detail: Type.String() }),
  /** The broker was unavailable for more than two seconds; nothing was sent. Created by the caller's side only. */
  Type.Object({ kind: Type.Literal('brokerAway') }),
]);

/** Outcome of a command. */
export type Outcome = Static<typeof outcome>;

/** Validators of both payloads. */
export const checkDeviceCommand = compileCheck(deviceCommand);
export const checkOutcome = compileCheck(outcome);

/** Event: the frame of a command was written to the terminal's socket. Subject: `commandSentSubject`. */
export const commandSent = defineEvent({
  subject: 'device.*.sent',
  schema: Type.Object({
    imei: Type.String(),
    commandId: Type.String(),
    messageId: port,
    /** Header serial of the frame; of the last one if the message was split. */
    serialNo: port,
  }),
});

/** Returns the subject of frames written to one terminal. */
export const commandSentSubject = (imei: string): string => `device.${imei}.sent`;

/**
 * Returns the subject on which the gateway pod that holds a terminal's session receives commands; `imei` is the
 * canonical number.
 */
export const deviceCommandSubject = (imei: string): string => `device.${imei}.command`;
