import { createParameter } from '@fleet/jt808';
import { AppError, compileBody, describeErrors, validationError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';

/** Parameters of each command type: the fields of the Device API, with its defaults. */
const byteField = (more: { default?: number } = {}) => Type.Integer({ minimum: 0, maximum: 255, ...more });
const choiceField = (values: readonly number[], preset?: number) =>
  Type.Integer({ enum: values, ...(preset === undefined ? {} : { default: preset }) });
const channel = byteField();
const time = Type.String({
  format: 'date-time',
  pattern: '^\\d{4}-\\d\\d-\\d\\d[Tt][0-9:.]+([Zz]|[+-]\\d\\d:\\d\\d)$',
  errorMessage: 'must be an RFC 3339 date-time, such as 2026-01-31T08:15:30Z',
});
const host = Type.Optional(
  Type.String({ pattern: '^[A-Za-z0-9._:-]{1,253}$', errorMessage: 'must be a host name or an IP address' }),
);
const port = Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535 }));
const flag = Type.Boolean({ default: true });
const hexBytes = (maxBytes: number) =>
  Type.String({
    pattern: '^([0-9A-Fa-f]{2})*$',
    maxLength: 2 * maxBytes,
    errorMessage: { pattern: 'must be bytes of two hex digits each' },
  });
const parameterId = Type.Integer({ minimum: 0, maximum: 4_294_967_295 });
const clip = {
  channel,
  start_time: time,
  end_time: time,
  resource_type: choiceField([0, 1, 2, 3], 3),
  stream_type: choiceField([0, 1, 2], 0),
  memory_type: choiceField([0, 1, 2], 0),
  alarm: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, default: 0 }),
};

export const paramSchemas = {
  control: Type.Object({
    command: byteField(),
    parameters: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 1022 })),
  }),
  text: Type.Object({
    text: Type.String({ minLength: 1, maxLength: 1024 }),
    text_type: Type.Optional(
      Type.Unsafe<'Notification' | 'Service' | null>({
        type: ['string', 'null'],
        enum: ['Notification', 'Service', null],
      }),
    ),
    options: Type.Optional(
      Type.Object({
        emergency: Type.Boolean(),
        display_by_terminal: Type.Boolean(),
        tts: Type.Boolean(),
        display_by_advertising_screen: Type.Boolean(),
        central_navigation_info: Type.Boolean(),
      }),
    ),
  }),
  wakeup: Type.Object({}),
  live_start: Type.Object({
    channel,
    data_type: choiceField([0, 1, 2, 3, 4, 5], 0),
    stream_type: choiceField([0, 1], 0),
    host,
    tcp_port: port,
    udp_port: port,
  }),
  live_stop: Type.Object({ channel, close_type: choiceField([0, 1, 2], 0) }),
  capture: Type.Object({
    channel: Type.Integer({ minimum: 1, maximum: 255 }),
    count: Type.Integer({ minimum: 1, maximum: 100, default: 1 }),
    interval_seconds: Type.Integer({ minimum: 0, maximum: 65_535, default: 0 }),
    film: Type.Boolean({ default: false }),
    resolution: byteField({ default: 2 }),
    quality: Type.Integer({ minimum: 1, maximum: 10, default: 5 }),
    brightness: byteField({ default: 128 }),
    contrast: Type.Integer({ minimum: 0, maximum: 127, default: 64 }),
    saturation: Type.Integer({ minimum: 0, maximum: 127, default: 64 }),
    chroma: byteField({ default: 128 }),
  }),
  upload: Type.Object({ ...clip, host, port, wifi: flag, lan: flag, mobile_network: flag }),
  resource_list: Type.Object(clip),
  set_parameters: Type.Object({
    parameters: Type.Array(
      Type.Object({
        id: parameterId,
        value: Type.Optional(Type.Unsafe<string | number>({ type: ['string', 'integer'], maxLength: 255 })),
        value_hex: Type.Optional(hexBytes(255)),
      }),
      { minItems: 1, maxItems: 100 },
    ),
  }),
  query_parameters: Type.Object({ ids: Type.Array(parameterId, { maxItems: 255, default: [] }) }),
  query_attributes: Type.Object({}),
  locate: Type.Object({}),
  vehicle_control: Type.Object({ doors: Type.Unsafe<'lock' | 'unlock'>({ type: 'string', enum: ['lock', 'unlock'] }) }),
  raw: Type.Object({
    message_id: Type.String({
      pattern: '^0x[89][0-9A-Fa-f]{3}$',
      errorMessage: 'must be a platform message id from 0x8000 to 0x9fff',
    }),
    body_hex: Type.Optional(hexBytes(16_384)),
  }),
};

/** The type of a command. */
export type CommandType = keyof typeof paramSchemas;

/** The parameters of a command of one type. */
export type ParamsOf<T extends CommandType> = Static<(typeof paramSchemas)[T]>;

export const commandTypes = Object.keys(paramSchemas) as readonly CommandType[];

const checks = Object.fromEntries(
  Object.entries(paramSchemas).map(([type, schema]) => [type, compileBody(schema, describeErrors)]),
) as Readonly<Record<CommandType, (value: unknown) => unknown>>;

/** Messages of the session itself. Sent at the wrong time, they would end it. */
const ownMessages = new Set([0x8001, 0x8003, 0x8004, 0x8100, 0x8800, 0x9212]);

/** Returns the parameters of a command with their defaults. Throws 400 if they are invalid. */
export function parseParams(type: CommandType, input: Record<string, unknown>): Record<string, unknown> {
  let params: Record<string, unknown>;
  try {
    const known = Object.keys(paramSchemas[type].properties);
    // Unknown fields are ignored, as in every body.
    const part = Object.fromEntries(Object.entries(structuredClone(input)).filter(([name]) => known.includes(name)));
    params = checks[type](part) as Record<string, unknown>;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    throw validationError(error.details.map(({ path, message }) => ({ path: `/params${path}`, message })));
  }
  const fault = findFault(type, params);
  if (fault !== undefined) throw validationError([fault]);
  return params;
}

interface Fault {
  readonly path: string;
  readonly message: string;
}

/** Checks constraints that a schema cannot express. */
function findFault(type: CommandType, params: Record<string, unknown>): Fault | undefined {
  if (type === 'upload' || type === 'resource_list') return findClipFault(params as ParamsOf<'resource_list'>);
  if (type === 'set_parameters') return findParameterFault(params as ParamsOf<'set_parameters'>);
  if (type !== 'raw') return undefined;
  const { message_id: id } = params as ParamsOf<'raw'>;
  return ownMessages.has(Number(id))
    ? { path: '/params/message_id', message: 'is reserved for messages that the platform sends by itself' }
    : undefined;
}

function findClipFault(params: ParamsOf<'resource_list'> & Partial<ParamsOf<'upload'>>): Fault | undefined {
  const [start, end] = [Date.parse(params.start_time), Date.parse(params.end_time)];
  if (Number.isNaN(start)) return { path: '/params/start_time', message: 'must be a valid time' };
  if (Number.isNaN(end)) return { path: '/params/end_time', message: 'must be a valid time' };
  if (start >= end) return { path: '/params/end_time', message: 'must be later than start_time' };
  if (params.wifi === false && params.lan === false && params.mobile_network === false)
    return { path: '/params/mobile_network', message: 'must be true if wifi and lan are false' };
  return undefined;
}

function findParameterFault({ parameters }: ParamsOf<'set_parameters'>): Fault | undefined {
  for (const [at, parameter] of parameters.entries()) {
    const path = `/params/parameters/${at}`;
    if ((parameter.value === undefined) === (parameter.value_hex === undefined))
      return { path, message: 'must have either value or value_hex' };
    try {
      toDeviceParameter(parameter);
    } catch (error) {
      return { path: `${path}/value`, message: `cannot be sent: ${(error as Error).message}` };
    }
  }
  return undefined;
}

/** Converts a parameter to the form in which it is sent to the terminal. */
export const toDeviceParameter = ({
  id,
  value,
  value_hex,
}: ParamsOf<'set_parameters'>['parameters'][number]): { id: number; valueHex: string } => ({
  id,
  valueHex: value_hex ?? createParameter(id, value ?? '').bytes.toString('hex'),
});
