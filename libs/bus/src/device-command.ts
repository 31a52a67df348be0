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

/** What is said of a text message, 0x8300; `options` null: an emergency message. */
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
 * What a gateway can be asked to do to a terminal, by meaning and not by frame: the gateway knows the terminal's edition and encodes accordingly.
 * Field values are those of the JT/T 808 and 1078 tables.
 */
export const deviceCommand = Type.Union([
  /** A harmless query that wakes a sleeping terminal: 0x8204 (2019) or 0x8201 (2011, 2013), repeated until it answers. */
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
  /** 0x8500 for the doors, which editions tell in opposite ways. */
  Type.Object({ kind: Type.Literal('controlDoors'), isLocked: Type.Boolean() }),
  /** Any message of the platform, as it is. */
  Type.Object({ kind: Type.Literal('raw'), messageId: port, bodyHex: hexBytes(16_384) }),
]);

/** One command to a terminal. */
export type DeviceCommand = Static<typeof deviceCommand>;

/** The command of one kind. */
export type DeviceCommandOf<K extends DeviceCommand['kind']> = Extract<DeviceCommand, { kind: K }>;

/** How a terminal answered: with a result code (0x0001), with a message of its own (0x1205 …), or both. */
export const deviceResponse = Type.Object({
  /** Message id of the command that was answered, such as 0x9101. */
  commandMessageId: port,
  /** Header serial of the command's frame. */
  commandSerialNo: port,
  /** Result of the terminal general response 0x0001 (0 success, 1 failure, 2 incorrect, 3 unsupported); null when only a message came. */
  result: Type.Union([byte, Type.Null()]),
  /** The specific answer, reassembled and undecoded; it has been checked to be readable. */
  message: Type.Union([
    Type.Object({
      id: port,
      edition: Type.Union([Type.Literal('2011'), Type.Literal('2013'), Type.Literal('2019')]),
      bodyBase64: Type.String(),
    }),
    Type.Null(),
  ]),
});

/** How a terminal answered. */
export type DeviceResponse = Static<typeof deviceResponse>;

/** Every way in which a command can end; a gateway answers the bus exactly once with one of them. */
export const outcome = Type.Union([
  Type.Object({ kind: Type.Literal('answered'), answer: deviceResponse }),
  /** No session, or it was lost before the frame was written. */
  Type.Object({ kind: Type.Literal('notConnected') }),
  /** The frame was written, and no answer came in time. */
  Type.Object({ kind: Type.Literal('timedOut') }),
  /** An answer came that can not be decoded. */
  Type.Object({ kind: Type.Literal('unreadable'), detail: Type.String() }),
  /** The gateway will not send it: the command can not be encoded for this terminal (the asker's fault), or the gateway itself failed (`isOurFault`). */
  Type.Object({ kind: Type.Literal('refused'), detail: Type.String(), isOurFault: Type.Optional(Type.Boolean()) }),
  /** Too much is in flight for this terminal, or the gateway is draining. */
  Type.Object({ kind: Type.Literal('busy'), detail: Type.String() }),
  /** The broker has been away for more than two seconds; nothing was sent. Made by the caller's side only. */
  Type.Object({ kind: Type.Literal('brokerAway') }),
]);

/** How a command ended. */
export type Outcome = Static<typeof outcome>;

/** Checks of both payloads. */
export const checkDeviceCommand = compileCheck(deviceCommand);
export const checkOutcome = compileCheck(outcome);

/** Tells that the frame of a command has been written to the terminal's socket. Subject: `commandSentSubject`. */
export const commandSent = defineEvent({
  subject: 'device.*.sent',
  schema: Type.Object({
    imei: Type.String(),
    commandId: Type.String(),
    messageId: port,
    /** Header serial of the frame, of the last one of a split message. */
    serialNo: port,
  }),
});

/** Where frames that have been written to one terminal are told. */
export const commandSentSubject = (imei: string): string => `device.${imei}.sent`;

/** The subject on which the gateway pod that holds a terminal's session takes commands; `imei` is the canonical number. */
export const deviceCommandSubject = (imei: string): string => `device.${imei}.command`;
