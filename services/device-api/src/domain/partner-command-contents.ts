import { createParameter } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { type Static, type TSchema, Type } from 'typebox';
import { parseTimestamp, type UtcOffset } from './camera-time.ts';
import { compileContentParser, compileNestedParser, parseObjectContent } from './partner-command.ts';

/*
 * Content of `cmdContent` by command. Each field has the name of the Device API and, as its alias, that of the vendor
 * hub (its clients' `cmdContent` of 37121, 37122, 37377, 37378 and 37381). The hub publishes no names for the others;
 * their aliases follow the standard's tables.
 */
const withAlias = <T extends TSchema>(schema: T, alias: string): T => ({ ...schema, alias });
const integer = (minimum: number, maximum: number, options: { default?: number } = {}) =>
  Type.Integer({ minimum, maximum, ...options });
const byte = (defaultValue?: number) => integer(0, 255, defaultValue === undefined ? {} : { default: defaultValue });
const port = Type.Integer({ minimum: 0, maximum: 65_535 });
const host = Type.String({ pattern: '^[A-Za-z0-9._:-]{1,253}$' });
/** RFC 3339, or 12 digits YYMMDDhhmmss on the camera's clock, as the hub's clients send it. */
const time = Type.String({ minLength: 12, maxLength: 40 });

const clip = {
  channel: byte(),
  start_time: withAlias(time, 'beginTime'),
  end_time: withAlias(time, 'endTime'),
  resource_type: Type.Optional(withAlias(integer(0, 3, { default: 3 }), 'resourceType')),
  stream_type: Type.Optional(withAlias(integer(0, 2, { default: 0 }), 'codeType')),
  memory_type: Type.Optional(withAlias(integer(0, 2, { default: 0 }), 'storageType')),
};
const alarm = withAlias(
  Type.Optional(Type.Unsafe<bigint>({ type: 'integer', format: 'uint64', minimum: 0, default: 0 })),
  'alarmFlag',
);

const contentSchemas = {
  control: Type.Object({
    command: withAlias(byte(), 'cmd'),
    parameters: Type.Optional(Type.String({ maxLength: 2048 })),
  }),
  photo: Type.Object({
    channel: integer(1, 255),
    /** 0 stops, 65535 films. */
    count: Type.Optional(withAlias(integer(0, 65_535, { default: 1 }), 'cmd')),
    interval_seconds: Type.Optional(withAlias(integer(0, 65_535, { default: 0 }), 'interval')),
    save_flag: Type.Optional(withAlias(integer(0, 1, { default: 0 }), 'saveFlag')),
    resolution: Type.Optional(byte(2)),
    quality: Type.Optional(integer(1, 10, { default: 5 })),
    brightness: Type.Optional(byte(128)),
    contrast: Type.Optional(integer(0, 127, { default: 64 })),
    saturation: Type.Optional(integer(0, 127, { default: 64 })),
    chroma: Type.Optional(byte(128)),
  }),
  live: Type.Object({
    channel: byte(),
    data_type: Type.Optional(withAlias(integer(0, 5, { default: 0 }), 'dataType')),
    stream_type: Type.Optional(withAlias(integer(0, 1, { default: 0 }), 'codeStreamType')),
    host: Type.Optional(withAlias(host, 'videoIP')),
    tcp_port: Type.Optional(withAlias(port, 'videoTCPPort')),
    udp_port: Type.Optional(withAlias(port, 'videoUDPPort')),
  }),
  liveControl: Type.Object({
    channel: byte(),
    ctrl_instruction: withAlias(integer(0, 4), 'cmd'),
    close_stream_type: Type.Optional(withAlias(integer(0, 2, { default: 0 }), 'dataType')),
    stream_type: Type.Optional(withAlias(integer(0, 1, { default: 0 }), 'codeStreamType')),
  }),
  playback: Type.Object({
    ...clip,
    host: Type.Optional(withAlias(host, 'serverAddress')),
    tcp_port: Type.Optional(withAlias(port, 'tcpPort')),
    udp_port: Type.Optional(withAlias(port, 'udpPort')),
    playback_mode: Type.Optional(withAlias(integer(0, 4, { default: 0 }), 'playMethod')),
    fast_forward_rewind_times: Type.Optional(withAlias(integer(0, 5, { default: 0 }), 'forwardRewind')),
  }),
  playbackControl: Type.Object({
    channel: byte(),
    playback_control: withAlias(integer(0, 6), 'playCtrl'),
    fast_forward_rewind_times: Type.Optional(withAlias(integer(0, 5, { default: 0 }), 'forwardRewind')),
    drag_playback_time: Type.Optional(withAlias(time, 'beginTime')),
  }),
  recordings: Type.Object({ ...clip, alarm }),
  upload: Type.Object({
    ...clip,
    alarm,
    host: Type.Optional(withAlias(host, 'serverAddress')),
    port: Type.Optional(port),
    /** With a name the camera receives this server and these credentials unchanged, and the upload is external. */
    user_name: Type.Optional(withAlias(Type.String({ maxLength: 255 }), 'userName')),
    password: Type.Optional(Type.String({ maxLength: 255 })),
    path: Type.Optional(withAlias(Type.String({ maxLength: 255 }), 'fileUploadPath')),
    /** Networks: bit 0 Wi-Fi, bit 1 LAN, bit 2 mobile network. */
    conditions: Type.Optional(withAlias(integer(1, 7, { default: 7 }), 'condition')),
  }),
};

type ContentSchemas = typeof contentSchemas;

const contentParsers = Object.fromEntries(
  Object.entries(contentSchemas).map(([name, schema]) => [name, compileContentParser(schema)]),
) as { readonly [K in keyof ContentSchemas]: (content: unknown) => unknown };

/** Parses the content of one kind of command; throws 400 with the invalid field. */
export const parseContent = <K extends keyof ContentSchemas>(kind: K, content: unknown): Static<ContentSchemas[K]> =>
  contentParsers[kind](content) as Static<ContentSchemas[K]>;

const parseParameterList = compileNestedParser(
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

interface ParameterContent {
  readonly id: number;
  readonly value?: string | number | undefined;
  readonly value_hex?: string | undefined;
}

/** Parses the parameters of 0x8103: a list in the Device API, an object by decimal id in the hub. */
export function parseParameters(content: unknown): { id: number; valueHex: string }[] {
  const object = parseObjectContent(content);
  const entries =
    'parameters' in object
      ? (parseParameterList(object) as { parameters: ParameterContent[] }).parameters
      : Object.entries(object)
          .filter(([name]) => /^\d{1,10}$/.test(name))
          .map(([name, value]): ParameterContent => ({ id: Number(name), value: value as string | number }));
  if (entries.length === 0) throw contentError('it contains no parameter');
  return entries.map(encodeWireParameter);
}

function encodeWireParameter({ id, value, value_hex: valueHex }: ParameterContent): { id: number; valueHex: string } {
  if ((value === undefined) === (valueHex === undefined))
    throw contentError(`parameter ${id} must have value or value_hex`);
  if (valueHex !== undefined) return { id, valueHex };
  if (typeof value !== 'string' && typeof value !== 'number')
    throw contentError(`parameter ${id} must be text or a number`);
  try {
    return { id, valueHex: encodeParameterValue(id, value ?? '').toString('hex') };
  } catch (cause) {
    throw contentError(`parameter ${id} cannot be sent: ${(cause as Error).message}`, cause);
  }
}

// The hub's clients write numbers as text.
function encodeParameterValue(id: number, value: string | number): Buffer {
  try {
    return createParameter(id, value).bytes;
  } catch (error) {
    if (typeof value === 'string' && /^\d{1,10}$/.test(value)) return createParameter(id, Number(value)).bytes;
    throw error;
  }
}

/** Returns the timestamp of a time in a content, in ms. */
export function parseContentTimestamp(name: string, text: string, offset: UtcOffset): number {
  const digits = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(text);
  const [, year, month, day, hour, minute, second] = digits ?? [];
  const timestampMs = parseTimestamp(
    digits === null ? text : `20${year}-${month}-${day}T${hour}:${minute}:${second}${offset}`,
  );
  if (timestampMs === undefined)
    throw contentError(`${name} must be an RFC 3339 date-time, or 12 digits YYMMDDhhmmss on the camera's clock`);
  return timestampMs;
}

const contentError = (what: string, cause?: unknown): AppError =>
  new AppError('validation_failed', `The field cmdContent: ${what}.`, { cause });
