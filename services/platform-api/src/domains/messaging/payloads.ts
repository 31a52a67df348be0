import { validationError } from '@fleet/service-kit';
import { type ChatMessage, chatStatuses, type Provider } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Message in a form common to all providers. A message with a status alone is a callback about a message that was sent.
 */
export interface Sms {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly text: string;
  /** Null for a word of the provider that does not describe the delivery of a message. */
  readonly status: ChatMessage['status'] | null;
  readonly isStatusCallback: boolean;
}

/** Speech in a call. */
export interface Call {
  readonly id: string;
  readonly from: string;
  readonly to: string;
  readonly transcript: string;
}

const fieldNames: Readonly<
  Record<Provider, Readonly<Record<'id' | 'from' | 'to' | 'text' | 'status', readonly string[]>>>
> = {
  twilio: {
    id: ['MessageSid', 'SmsSid', 'SmsMessageSid'],
    from: ['From'],
    to: ['To'],
    text: ['Body'],
    status: ['MessageStatus', 'SmsStatus'],
  },
  plivo: { id: ['MessageUUID'], from: ['From'], to: ['To'], text: ['Text'], status: ['Status'] },
  vonage: {
    id: ['message_uuid', 'messageId', 'message-id'],
    from: ['from', 'msisdn'],
    to: ['to'],
    text: ['text'],
    status: ['status'],
  },
  vapi: { id: ['id'], from: ['from'], to: ['to'], text: ['text'], status: ['status'] },
  generic: { id: ['id'], from: ['from'], to: ['to'], text: ['text'], status: ['status'] },
};

const maxTextLength = 10_000;

/** Returns the text of the first field that exists. Phone numbers may be objects or numbers. */
function findText(body: Fields, keys: readonly string[]): string | undefined {
  const value = keys.map((key) => body[key]).find((each) => each !== undefined && each !== null);
  const inner = typeof value === 'object' ? ((value as Fields)['number'] ?? (value as Fields)['id']) : value;
  if (typeof inner !== 'string' && typeof inner !== 'number') return undefined;
  return String(inner).slice(0, maxTextLength).replaceAll('\u0000', '');
}

function requireText(body: Fields, keys: readonly string[]): string {
  const value = findText(body, keys);
  if (value === undefined || value === '' || value.length > 200)
    throw validationError([
      { path: `/${keys[0]}`, message: value === undefined ? 'is missing' : 'must be a short text' },
    ]);
  return value;
}

const statuses: Readonly<Record<string, ChatMessage['status']>> = {
  received: 'received',
  receiving: 'received',
  accepted: 'queued',
  scheduled: 'queued',
  queued: 'queued',
  submitted: 'sent',
  buffered: 'sent',
  sending: 'queued',
  sent: 'sent',
  partially_delivered: 'sent',
  delivered: 'delivered',
  read: 'delivered',
  undelivered: 'failed',
  undeliverable: 'failed',
  rejected: 'failed',
  expired: 'failed',
  canceled: 'failed',
  failed: 'failed',
};

/** Progress of a message for each status. A late callback does not move it back. */
const steps: Readonly<Record<ChatMessage['status'], number>> = {
  received: 0,
  queued: 1,
  sent: 2,
  delivered: 3,
  failed: 3,
};

/** Returns the statuses from which a message may change to this one. */
export const previousStatuses = (status: ChatMessage['status']): ChatMessage['status'][] =>
  chatStatuses.filter((each) => steps[each] < steps[status]);

/** Parses the body of an SMS provider; throws 400 for an invalid message. */
export function parseSms(provider: Provider, body: Fields): Sms {
  const keys = fieldNames[provider];
  const text = findText(body, keys.text);
  const word = findText(body, keys.status)?.toLowerCase();
  const status = statuses[word ?? ''] ?? null;
  const isCallBack = text === undefined && word !== undefined && status !== 'received';
  if (text === undefined && !isCallBack) throw validationError([{ path: `/${keys.text[0]}`, message: 'is missing' }]);
  return {
    id: requireText(body, keys.id),
    from: isCallBack ? (findText(body, keys.from) ?? '') : requireText(body, keys.from),
    to: isCallBack ? (findText(body, keys.to) ?? '') : requireText(body, keys.to),
    text: text ?? '',
    status: isCallBack ? status : 'received',
    isStatusCallback: isCallBack,
  };
}

/** Parses the body of a voice provider; throws 400 for an invalid call. */
export function parseCall(provider: Provider, body: Fields): Call {
  const flat = provider === 'vapi' ? flattenVapi(body) : body;
  const speech = provider === 'vonage' ? parseVonageSpeech(body) : undefined;
  return {
    id: requireText(flat, ['call_id', 'CallSid', 'CallUUID', 'uuid', 'conversation_uuid']),
    from: requireText(flat, ['from', 'From']),
    to: findText(flat, ['to', 'To']) ?? '',
    // A call that has just begun has no transcript.
    transcript: speech ?? findText(flat, ['transcript', 'SpeechResult', 'Speech']) ?? '',
  };
}

function flattenVapi(body: Fields): Fields {
  const message = toFields(body['message']) ?? body;
  const call = toFields(message['call']);
  const customer = toFields(call?.['customer']) ?? toFields(message['customer']);
  return { call_id: call?.['id'], from: customer?.['number'], transcript: message['transcript'] };
}

function parseVonageSpeech(body: Fields): string | undefined {
  const results = toFields(body['speech'])?.['results'];
  const first: unknown = Array.isArray(results) ? results[0] : undefined;
  const fields = toFields(first);
  return fields === undefined ? undefined : findText(fields, ['text']);
}

const toFields = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
