import { terminalKey } from '@fleet/jt808';
import { AppError, compileBody, compileParameters, parseJsonBody, type RequestContext } from '@fleet/service-kit';
import { Type } from 'typebox';

/** A command of the partner channel. */
export interface PartnerCommand {
  /** Canonical number. */
  readonly imei: string;
  /** As the partner wrote it. */
  readonly requestedImei: string;
  readonly proNo: number;
  /** Text, or an object from JSON. */
  readonly content: unknown;
  /** Time-out of the device. */
  readonly timeoutMs: number;
  /** False: respond as soon as the device's socket has accepted the command. */
  readonly isSync: boolean;
  /** True: queue the command for a disconnected device. */
  readonly isQueueable: boolean;
  readonly requestId: string | null;
}

/** Fields of the form; a JSON body may have numbers, booleans and an object as `cmdContent`. */
export const partnerCommandBody = Type.Object(
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
const maxTimeoutS = 90;

const validationError = (message: string): AppError => new AppError('validation_failed', message);

/** Parses a form, or JSON: each given field as text; `cmdContent` may also be an object. */
export function parsePartnerCommandBody(bytes: Buffer, { request }: RequestContext): Record<string, unknown> {
  const type = request.get('content-type') ?? '';
  const text = bytes.toString('utf8');
  if (/\bjson\b/i.test(type) || text.trimStart().startsWith('{')) return parseJsonFields(bytes);
  const fields: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    if (name in fields) throw validationError(`The field ${name} is given more than once.`);
    fields[name] = value;
  }
  return fields;
}

function parseJsonFields(bytes: Buffer): Record<string, unknown> {
  const value = parseJsonBody(bytes);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw validationError('The body must be an object.');
  const entries = Object.entries(value as Record<string, unknown>).filter(([, field]) => field !== null);
  return Object.fromEntries(
    entries.map(([name, field]) => [name, name === 'cmdContent' && typeof field === 'object' ? field : toText(field)]),
  );
}

const toText = (value: unknown): unknown =>
  typeof value === 'number' || typeof value === 'boolean' ? String(value) : value;

type Fields = Readonly<Record<string, unknown>>;

/** Returns the token of a body, which is checked first. */
export const getToken = ({ token }: Fields): string => (typeof token === 'string' ? token : '');

/** Parses a command; throws 400 with the invalid field. */
export function parsePartnerCommand(fields: Fields): PartnerCommand {
  const requestedImei = requireText(fields, 'deviceImei');
  const imei = /^\d{1,20}$/.test(requestedImei) ? terminalKey(requestedImei) : null;
  if (imei === null) throw validationError('The field deviceImei is not a device number.');
  const requestId = fields['requestId'];
  return {
    imei,
    requestedImei,
    proNo: parseWholeNumber(requireText(fields, 'proNo'), 'proNo'),
    content: fields['cmdContent'],
    timeoutMs: parseTimeoutS(fields['timeOut']) * 1000,
    isSync: parseFlag(fields, 'sync', true),
    isQueueable: parseFlag(fields, 'offlineFlag', false),
    requestId: typeof requestId === 'string' && requestId.length <= 100 ? requestId : null,
  };
}

function requireText(fields: Fields, name: string): string {
  const value = fields[name];
  if (value === undefined || value === '') throw validationError(`The field ${name} is missing.`);
  if (typeof value !== 'string') throw validationError(`The field ${name} must be text.`);
  return value;
}

function parseWholeNumber(value: string, name: string): number {
  if (/^(0|[1-9]\d{0,8})$/.test(value)) return Number(value);
  throw validationError(`The field ${name} must be a whole number.`);
}

function parseTimeoutS(value: unknown): number {
  if (value === undefined || value === '') return defaultTimeoutS;
  const seconds = typeof value === 'string' ? parseWholeNumber(value, 'timeOut') : 0;
  if (seconds === 0) throw validationError('The field timeOut must be a number of seconds, 1 or more.');
  return Math.min(seconds, maxTimeoutS);
}

// The hub's clients write `true` and `1`.
function parseFlag(fields: Fields, name: string, defaultValue: boolean): boolean {
  const value = fields[name];
  if (value === undefined || value === '') return defaultValue;
  if (value === 'true' || value === '1') return true;
  if (value === 'false' || value === '0') return false;
  throw validationError(`The field ${name} must be true or false.`);
}

/** Returns the text of a text command. */
export function requireTextContent(content: unknown): string {
  if (typeof content !== 'string' || content === '') throw validationError('The field cmdContent is missing.');
  return content;
}

/** Returns the object in `cmdContent`; throws 400 for anything else. */
export function parseObjectContent(content: unknown): Fields {
  if (content === undefined || content === '') throw validationError('The field cmdContent is missing.');
  let value: unknown = content;
  if (typeof content === 'string')
    try {
      value = parseJsonBody(Buffer.from(content));
    } catch (cause) {
      throw new AppError('validation_failed', 'The field cmdContent is not valid JSON.', { cause });
    }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
  throw validationError('The field cmdContent must be a JSON object.');
}

/**
 * Compiles a validator of `cmdContent`: numbers may be text, as the hub's clients send them, and an empty value is
 * absent.
 */
export function compileContentParser(schema: Parameters<typeof compileParameters>[0]): (content: unknown) => unknown {
  const parse = compileParameters(schema, 'query');
  return (content) => {
    const entries = Object.entries(parseObjectContent(content)).filter(([, value]) => value !== null && value !== '');
    try {
      return parse(Object.fromEntries(entries.map(([name, value]) => [name, toText(value)])));
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
export function compileNestedParser(schema: Parameters<typeof compileBody>[0]): (content: unknown) => unknown {
  const check = compileBody(schema);
  return (content) => check(parseObjectContent(content));
}
