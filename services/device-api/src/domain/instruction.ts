import { terminalKey } from '@fleet/jt808';
import { AppError, compileBody, compileParameters, parseJsonBody, type RequestContext } from '@fleet/service-kit';
import { Type } from 'typebox';

/** A command of the partner channel. */
export interface Instruction {
  /** Canonical number. */
  readonly imei: string;
  /** As the partner wrote it. */
  readonly askedImei: string;
  readonly proNo: number;
  /** Text, or an object from JSON. */
  readonly content: unknown;
  /** Time-out of the device. */
  readonly timeoutMs: number;
  /** False: respond as soon as the device's socket has accepted the command. */
  readonly isSync: boolean;
  /** True: queue the command for a disconnected device. */
  readonly mayWait: boolean;
  readonly requestId: string | null;
}

/** Fields of the form; a JSON body may have numbers, booleans and an object as `cmdContent`. */
export const instructionBody = Type.Object(
  {
    token: Type.Optional(Type.String({ description: 'Token of a partner, `POST /api/partners`.' })),
    deviceImei: Type.Optional(
      Type.String({
        description: 'Number of the device: 12 or 20 digits, or an IMEI of 15.',
        examples: ['013800138000'],
      }),
    ),
    proNo: Type.Optional(
      Type.String({
        description:
          'The command: 128 and 33536 text, 33027 parameters, 33029 control, 34817 photo, 37121 and 37122 live video, 37377 and 37378 playback, 37381 recording list, 37382 upload.',
        examples: ['33536'],
      }),
    ),
    cmdContent: Type.Optional(
      Type.Unsafe<string | object>({
        type: ['string', 'object'],
        description: 'For 128 and 33536 the text; else JSON with the fields of the Device API or of the vendor hub.',
        examples: ['Please call the dispatcher.'],
      }),
    ),
    timeOut: Type.Optional(Type.String({ description: 'Time-out of the device in seconds, at most 90. Default: 30.' })),
    sync: Type.Optional(
      Type.String({
        description: '`false`: respond once the command has been written to the device. Default: `true`.',
      }),
    ),
    offlineFlag: Type.Optional(
      Type.String({
        description: '`true`: queue the command for a disconnected device. Default: `false`.',
      }),
    ),
    requestId: Type.Optional(Type.String({ description: 'Id of the caller; repeated in the response.' })),
    cmdType: Type.Optional(Type.String({ description: '`normallns`; ignored.' })),
    serverFlagId: Type.Optional(Type.String({ description: 'Ignored.' })),
    platform: Type.Optional(Type.String({ description: 'Ignored.' })),
    language: Type.Optional(Type.String({ description: 'Ignored.' })),
  },
  { title: 'Instruction', additionalProperties: true },
);

const defaultTimeoutS = 30;
const longestTimeoutS = 90;

const refused = (message: string): AppError => new AppError('validation_failed', message);

/** Parses a form, or JSON: each given field as text; `cmdContent` may also be an object. */
export function readInstructionBody(bytes: Buffer, { request }: RequestContext): Record<string, unknown> {
  const type = request.get('content-type') ?? '';
  const text = bytes.toString('utf8');
  if (/\bjson\b/i.test(type) || text.trimStart().startsWith('{')) return fieldsOfJson(bytes);
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (name in fields) throw refused(`The field ${name} is given more than once.`);
    fields[name] = value;
  }
  return fields;
}

function fieldsOfJson(bytes: Buffer): Record<string, unknown> {
  const value = parseJsonBody(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused('The body must be an object.');
  const given = Object.entries(value as Record<string, unknown>).filter(([, field]) => field !== null);
  return Object.fromEntries(
    given.map(([name, field]) => [name, name === 'cmdContent' && typeof field === 'object' ? field : textOf(field)]),
  );
}

const textOf = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

type Fields = Readonly<Record<string, unknown>>;

/** Returns the token of a body, which is checked first. */
export const tokenOf = ({ token }: Fields): string => (typeof token === 'string' ? token : '');

/** Parses a command; throws 400 with the invalid field. */
export function readInstruction(fields: Fields): Instruction {
  const askedImei = textField(fields, 'deviceImei');
  const imei = /^\d{1,20}$/.test(askedImei) ? terminalKey(askedImei) : null;
  if (imei === null) throw refused('The field deviceImei is not a device number.');
  const requestId = fields['requestId'];
  return {
    imei,
    askedImei,
    proNo: wholeNumber(textField(fields, 'proNo'), 'proNo'),
    content: fields['cmdContent'],
    timeoutMs: timeoutOf(fields['timeOut']) * 1000,
    isSync: flagOf(fields, 'sync', true),
    mayWait: flagOf(fields, 'offlineFlag', false),
    requestId: typeof requestId === 'string' && requestId.length <= 100 ? requestId : null,
  };
}

function textField(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === '') throw refused(`The field ${name} is missing.`);
  if (typeof value !== 'string') throw refused(`The field ${name} must be text.`);
  return value;
}

function wholeNumber(value: string, name: string): number {
  if (/^(0|[1-9]\d{0,8})$/.test(value)) return Number(value);
  throw refused(`The field ${name} must be a whole number.`);
}

function timeoutOf(value: unknown): number {
  if (value === undefined || value === '') return defaultTimeoutS;
  const seconds = typeof value === 'string' ? wholeNumber(value, 'timeOut') : 0;
  if (seconds === 0) throw refused('The field timeOut must be a number of seconds, 1 or more.');
  return Math.min(seconds, longestTimeoutS);
}

/** The hub's clients write `true` and `1`. */
function flagOf(fields: Fields, name: string, preset: boolean): boolean {
  const value = fields[name];
  if (value === undefined || value === '') return preset;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw refused(`The field ${name} must be true or false.`);
}

/** Returns the text of a text command. */
export function textOfContent(content: unknown): string {
  if (typeof content !== 'string' || content === '') throw refused('The field cmdContent is missing.');
  return content;
}

/** Returns the object in `cmdContent`; throws 400 for anything else. */
export function objectOfContent(content: unknown): Fields {
  if (content === undefined || content === '') throw refused('The field cmdContent is missing.');
  let value: unknown = content;
  if (typeof content === 'string')
    try {
      value = parseJsonBody(Buffer.from(content));
    } catch (cause) {
      throw new AppError('validation_failed', 'The field cmdContent is not valid JSON.', { cause });
    }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw refused('The field cmdContent must be a JSON object.');
}

/**
 * Compiles a validator of `cmdContent`: numbers may be text, as the hub's clients send them, and an empty value is
 * absent.
 */
export function compileContent(schema: Parameters<typeof compileParameters>[0]): (content: unknown) => unknown {
  const parse = compileParameters(schema, 'query');
  return (content) => {
    const given = Object.entries(objectOfContent(content)).filter(([, value]) => value !== null && value !== '');
    try {
      return parse(Object.fromEntries(given.map(([name, value]) => [name, textOf(value)])));
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      // The content is validated like a query, with error messages of its own.
      throw new AppError(error.code, error.message.replace('The query parameter', 'The field cmdContent/'), {
        cause: error,
      });
    }
  };
}

/** Compiles a validator of a `cmdContent` with lists. */
export function compileNested(schema: Parameters<typeof compileBody>[0]): (content: unknown) => unknown {
  const check = compileBody(schema);
  return (content) => check(objectOfContent(content));
}
