import type { MessageSender } from '../providers/message-sender.ts';
import { guardedMessages } from './guarded-messages.ts';
import { type LineOptions, ProviderLine, parsedJson, SendingFailed, SendingRefused } from './sending.ts';
import type { SenderSettings } from './settings.ts';

/** A text message to one number. */
export interface SmsMessage {
  /** E.164. */
  readonly to: string;
  /** Of the account; null: that of the installation. */
  readonly from: string | null;
  readonly text: string;
}

/** Sends a text message; returns the provider's id of it, null without one. Throws SendingFailed or SendingRefused. */
export interface SmsProvider {
  readonly name: string;
  send(message: SmsMessage): Promise<string | null>;
  stop(): void;
}

/** The configured provider. */
export function smsProviderOf(
  settings: SenderSettings,
  messages: MessageSender,
  options: LineOptions = {},
): SmsProvider {
  if (settings.SMS_PROVIDER === 'twilio') return new HttpSms('twilio', twilio(settings), options);
  if (settings.SMS_PROVIDER === 'plivo') return new HttpSms('plivo', plivo(settings), options);
  if (settings.SMS_PROVIDER === 'vonage') return new HttpSms('vonage', vonage(settings), options);
  const own = guardedMessages('SMS', messages, options);
  return {
    name: 'log',
    send: async ({ to, text }) => {
      await own.send({ kind: 'sms', to, text });
      return null;
    },
    stop: () => own.stop(),
  };
}

/** Requests and responses of one provider. */
interface Dialect {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Numbers without + if the provider requires that. */
  body(message: SmsMessage): string;
  /** Returns the id of an accepted message; throws for a rejected one. */
  idOf(status: number, response: unknown): string | null;
}

class HttpSms implements SmsProvider {
  readonly name: string;
  readonly #dialect: Dialect;
  readonly #line: ProviderLine;

  constructor(name: string, dialect: Dialect, options: LineOptions) {
    this.name = name;
    this.#dialect = dialect;
    this.#line = new ProviderLine(name, options);
  }

  async send(message: SmsMessage): Promise<string | null> {
    const { url, headers } = this.#dialect;
    const { status, text } = await this.#line.post({ url, headers, body: this.#dialect.body(message) });
    return this.#dialect.idOf(status, parsedJson(text));
  }

  stop(): void {
    this.#line.stop();
  }
}

const form = 'application/x-www-form-urlencoded';
const basic = (user: string | undefined, password: string | undefined): string =>
  `Basic ${Buffer.from(`${user ?? ''}:${password ?? ''}`).toString('base64')}`;

/** The operator must correct a rejected key, and the message waits; any other fault is the message's own. */
function notTaken(provider: string, status: number): never {
  if (status === 401 || status === 403) throw new SendingFailed(`${provider} returned ${status}`);
  throw new SendingRefused(`${provider} returned ${status}`);
}

const twilio = (settings: SenderSettings): Dialect => ({
  url: `${settings.TWILIO_URL}/2010-04-01/Accounts/${encodeURIComponent(settings.TWILIO_ACCOUNT_SID ?? '')}/Messages.json`,
  headers: {
    authorization: basic(settings.TWILIO_ACCOUNT_SID, settings.TWILIO_AUTH_TOKEN),
    'content-type': form,
    accept: 'application/json',
  },
  body: ({ to, from, text }) => {
    const sender = from ?? settings.SMS_FROM ?? '';
    // A messaging service selects the number itself.
    const by = sender.startsWith('MG') ? { MessagingServiceSid: sender } : { From: sender };
    return new URLSearchParams({ To: to, ...by, Body: text }).toString();
  },
  idOf: (status, response) => {
    if (status !== 201 && status !== 200) notTaken('twilio', status);
    const { sid } = (response ?? {}) as { sid?: unknown };
    return typeof sid === 'string' ? sid : null;
  },
});

const plivo = (settings: SenderSettings): Dialect => ({
  url: `${settings.PLIVO_URL}/v1/Account/${encodeURIComponent(settings.PLIVO_AUTH_ID ?? '')}/Message/`,
  headers: {
    authorization: basic(settings.PLIVO_AUTH_ID, settings.PLIVO_AUTH_TOKEN),
    'content-type': 'application/json',
    accept: 'application/json',
  },
  body: ({ to, from, text }) =>
    JSON.stringify({ src: from ?? settings.SMS_FROM, dst: to.replace(/^\+/, ''), text, type: 'sms' }),
  idOf: (status, response) => {
    if (status !== 202 && status !== 200) notTaken('plivo', status);
    const { message_uuid: ids } = (response ?? {}) as { message_uuid?: unknown };
    const first: unknown = Array.isArray(ids) ? ids[0] : ids;
    return typeof first === 'string' ? first : null;
  },
});

/** Vonage's status for too many requests. */
const throttled = '1';
/** Wrong credentials, an account without credit, an internal fault of Vonage. */
const laterStatuses = new Set(['4', '5', '8', '9', '14']);

const vonage = (settings: SenderSettings): Dialect => ({
  url: `${settings.VONAGE_URL}/sms/json`,
  headers: { 'content-type': form, accept: 'application/json' },
  body: ({ to, from, text }) =>
    new URLSearchParams({
      api_key: settings.VONAGE_API_KEY ?? '',
      api_secret: settings.VONAGE_API_SECRET ?? '',
      from: from ?? settings.SMS_FROM ?? '',
      to: to.replace(/^\+/, ''),
      text,
      // Non-Latin letters need another coding.
      type: /^[\x20-\x7e\n]*$/.test(text) ? 'text' : 'unicode',
    }).toString(),
  idOf: (status, response) => {
    if (status !== 200) notTaken('vonage', status);
    const { messages } = (response ?? {}) as { messages?: readonly { status?: string; 'message-id'?: string }[] };
    const [first] = messages ?? [];
    if (first?.status === '0') return first['message-id'] ?? null;
    const code = first?.status ?? 'nothing';
    if (code === throttled || laterStatuses.has(code))
      throw new SendingFailed(`vonage returned status ${code}`, { isOutage: code !== throttled });
    throw new SendingRefused(`vonage returned status ${code}`);
  },
});
