import { makeParameter } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { type Static, type TSchema, Type } from 'typebox';
import { instantOf, type UtcOffset } from './camera-time.ts';
import { compileContent, compileNested, objectOfContent } from './instruction.ts';

/*
 * Content of `cmdContent` by command. Each field has the name of the Device API and, as its alias, that of the vendor
 * hub (its clients' `cmdContent` of 37121, 37122, 37377, 37378 and 37381). The hub publishes no names for the others;
 * their aliases follow the standard's tables.
 */
const named = <T extends TSchema>(schema: T, alias: string): T => ({ ...schema, alias });
const integer = (minimum: number, maximum: number, more: { default?: number } = {}) =>
  Type.Integer({ minimum, maximum, ...more });
const byte = (preset?: number) => integer(0, 255, preset === undefined ? {} : { default: preset });
const port = Type.Integer({ minimum: 0, maximum: 65_535 });
const host = Type.String({ pattern: '^[A-Za-z0-9._:-]{1,253}$' });
/** RFC 3339, or 12 digits YYMMDDhhmmss on the camera's clock, as the hub's clients send it. */
const time = Type.String({ minLength: 12, maxLength: 40 });

const clip = {
  channel: byte(),
  start_time: named(time, 'beginTime'),
  end_time: named(time, 'endTime'),
  resource_type: Type.Optional(named(integer(0, 3, { default: 3 }), 'resourceType')),
  stream_type: Type.Optional(named(integer(0, 2, { default: 0 }), 'codeType')),
  memory_type: Type.Optional(named(integer(0, 2, { default: 0 }), 'storageType')),
};
const alarm = named(
  Type.Optional(Type.Unsafe<bigint>({ type: 'integer', format: 'uint64', minimum: 0, default: 0 })),
  'alarmFlag',
);

const contents = {
  control: Type.Object({
    command: named(byte(), 'cmd'),
    parameters: Type.Optional(Type.String({ maxLength: 2048 })),
  }),
  photo: Type.Object({
    channel: integer(1, 255),
    /** 0 stops, 65535 films. */
    count: Type.Optional(named(integer(0, 65_535, { default: 1 }), 'cmd')),
    interval_seconds: Type.Optional(named(integer(0, 65_535, { default: 0 }), 'interval')),
    save_flag: Type.Optional(named(integer(0, 1, { default: 0 }), 'saveFlag')),
    resolution: Type.Optional(byte(2)),
    quality: Type.Optional(integer(1, 10, { default: 5 })),
    brightness: Type.Optional(byte(128)),
    contrast: Type.Optional(integer(0, 127, { default: 64 })),
    saturation: Type.Optional(integer(0, 127, { default: 64 })),
    chroma: Type.Optional(byte(128)),
  }),
  live: Type.Object({
    channel: byte(),
    data_type: Type.Optional(named(integer(0, 5, { default: 0 }), 'dataType')),
    stream_type: Type.Optional(named(integer(0, 1, { default: 0 }), 'codeStreamType')),
    host: Type.Optional(named(host, 'videoIP')),
    tcp_port: Type.Optional(named(port, 'videoTCPPort')),
    udp_port: Type.Optional(named(port, 'videoUDPPort')),
  }),
  liveControl: Type.Object({
    channel: byte(),
    ctrl_instruction: named(integer(0, 4), 'cmd'),
    close_stream_type: Type.Optional(named(integer(0, 2, { default: 0 }), 'dataType')),
    stream_type: Type.Optional(named(integer(0, 1, { default: 0 }), 'codeStreamType')),
  }),
  playback: Type.Object({
    ...clip,
    host: Type.Optional(named(host, 'serverAddress')),
    tcp_port: Type.Optional(named(port, 'tcpPort')),
    udp_port: Type.Optional(named(port, 'udpPort')),
    playback_mode: Type.Optional(named(integer(0, 4, { default: 0 }), 'playMethod')),
    fast_forward_rewind_times: Type.Optional(named(integer(0, 5, { default: 0 }), 'forwardRewind')),
  }),
  playbackControl: Type.Object({
    channel: byte(),
    playback_control: named(integer(0, 6), 'playCtrl'),
    fast_forward_rewind_times: Type.Optional(named(integer(0, 5, { default: 0 }), 'forwardRewind')),
    drag_playback_time: Type.Optional(named(time, 'beginTime')),
  }),
  recordings: Type.Object({ ...clip, alarm }),
  upload: Type.Object({
    ...clip,
    alarm,
    host: Type.Optional(named(host, 'serverAddress')),
    port: Type.Optional(port),
    /** With a name the camera receives this server and these credentials unchanged, and the upload is external. */
    user_name: Type.Optional(named(Type.String({ maxLength: 255 }), 'userName')),
    password: Type.Optional(Type.String({ maxLength: 255 })),
    path: Type.Optional(named(Type.String({ maxLength: 255 }), 'fileUploadPath')),
    /** Networks: bit 0 Wi-Fi, bit 1 LAN, bit 2 mobile network. */
    conditions: Type.Optional(named(integer(1, 7, { default: 7 }), 'condition')),
  }),
};

type Contents = typeof contents;

const compiled = Object.fromEntries(
  Object.entries(contents).map(([name, schema]) => [name, compileContent(schema)]),
) as { readonly [K in keyof Contents]: (content: unknown) => unknown };

/** Parses the content of one kind of command; throws 400 with the invalid field. */
export const readContent = <K extends keyof Contents>(kind: K, content: unknown): Static<Contents[K]> =>
  compiled[kind](content) as Static<Contents[K]>;

const parameterList = compileNested(
  Type.Object({
    parameters: Type.Array(
      Type.Object({
        id: Type.Integer({ minimum: 0, maximum: 4_294_967_295 }),
        value: Type.Optional(Type.Unsafe<string | number>({ type: ['string', 'integer'], maxLength: 255 })),
        value_hex: Type.Optional(Type.String({ pattern: '^([0-9A-Fa-f]{2})*$', maxLength: 510 })),
      }),
      { minItems: 1, maxItems: 100 },
    ),
  }),
);

interface GivenParameter {
  readonly id: number;
  readonly value?: string | number | undefined;
  readonly value_hex?: string | undefined;
}

/** Parameters of 0x8103: a list in the Device API, an object by decimal id in the hub. */
export function readParameters(content: unknown): { id: number; valueHex: string }[] {
  const object = objectOfContent(content);
  const given =
    'parameters' in object
      ? (parameterList(object) as { parameters: GivenParameter[] }).parameters
      : Object.entries(object)
          .filter(([name]) => /^\d{1,10}$/.test(name))
          .map(([name, value]): GivenParameter => ({ id: Number(name), value: value as string | number }));
  if (given.length === 0) throw fault('has no parameter');
  return given.map(wireParameter);
}

function wireParameter({ id, value, value_hex: valueHex }: GivenParameter): { id: number; valueHex: string } {
  if ((value === undefined) === (valueHex === undefined)) throw fault(`parameter ${id} must have value or value_hex`);
  if (valueHex !== undefined) return { id, valueHex };
  if (typeof value !== 'string' && typeof value !== 'number') throw fault(`parameter ${id} must be text or a number`);
  try {
    return { id, valueHex: bytesOf(id, value ?? '').toString('hex') };
  } catch (cause) {
    throw fault(`parameter ${id} cannot be sent: ${(cause as Error).message}`, cause);
  }
}

/** The hub's clients write numbers as text. */
function bytesOf(id: number, value: string | number): Buffer {
  try {
    return makeParameter(id, value).bytes;
  } catch (error) {
    if (typeof value === 'string' && /^\d{1,10}$/.test(value)) return makeParameter(id, Number(value)).bytes;
    throw error;
  }
}

/** Returns the timestamp of a time in a content, in ms. */
export function momentOf(name: string, text: string, offset: UtcOffset): number {
  const clock = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text);
  const [, year, month, day, hour, minute, second] = clock ?? [];
  const moment = instantOf(clock === null ? text : `20${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`);
  if (moment === undefined)
    throw fault(`${name} must be an RFC 3339 date-time, or 12 digits YYMMDDhhmmss on the camera's clock`);
  return moment;
}

const fault = (what: string, cause?: unknown): AppError =>
  new AppError('validation_failed', `The field cmdContent: ${what}.`, { cause });
