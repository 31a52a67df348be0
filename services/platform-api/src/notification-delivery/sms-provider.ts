import type { MessageSender } from '../providers/message-sender.ts';
import type { DeliverySettings } from './delivery-settings.ts';
import { guardMessageSender } from './guard-message-sender.ts';
import {
  PermanentSendError,
  ProviderClient,
  type ProviderClientOptions,
  parseJson,
  TransientSendError,
} from './provider-client.ts';

/** A text message to one number. */
interface SmsMessage {
  /** E.164. */
  readonly to: string;
  /** Of the account; null: that of the installation. */
  readonly from: string | null;
  readonly text: string;
}

/** Sends a text message; returns the provider's id of it, null without one. Throws TransientSendError or PermanentSendError. */
export interface SmsProvider {
  readonly name: string;
  send(message: SmsMessage): Promise<string | null>;
  stop(): void;
}

/** Returns the configured provider. */
export function createSmsProvider(
  settings: DeliverySettings,
  messages: MessageSender,
  options: ProviderClientOptions = {},
): SmsProvider {
  if (settings.SMS_PROVIDER === 'twilio') return new HttpSmsProvider('twilio', twilioApi(settings), options);
  if (settings.SMS_PROVIDER === 'plivo') return new HttpSmsProvider('plivo', plivoApi(settings), options);
  if (settings.SMS_PROVIDER === 'vonage') return new HttpSmsProvider('vonage', vonageApi(settings), options);
  const own = guardMessageSender('SMS', messages, options);
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
interface SmsApi {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Numbers without + if the provider requires that. */
  body(message: SmsMessage): string;
  /** Returns the id of an accepted message; throws for a rejected one. */
  parseId(status: number, response: unknown): string | null;
}

class HttpSmsProvider implements SmsProvider {
  readonly name: string;
  readonly #api: SmsApi;
  readonly #client: ProviderClient;

  constructor(name: string, api: SmsApi, options: ProviderClientOptions) {
    this.name = name;
    this.#api = api;
    this.#client = new ProviderClient(name, options);
  }

  async send(message: SmsMessage): Promise<string | null> {
    const { url, headers } = this.#api;
    const { status, text } = await this.#client.post({ url, headers, body: this.#api.body(message) });
    return this.#api.parseId(status, parseJson(text));
  }

  stop(): void {
    this.#client.stop();
  }
}

const formType = 'application/x-www-form-urlencoded';
const basicAuth = (user: string | undefined, password: string | undefined): string =>
  `Basic ${Buffer.from(`${user ?? ''}:${password ?? ''}`).toString('base64')}`;

// The operator must correct a rejected key, and the message waits; any other fault is the message's own.
function throwRejection(provider: string, status: number): never {
  if (status === 401 || status === 403) throw new TransientSendError(`${provider} returned ${status}`);
  throw new PermanentSendError(`${provider} returned ${status}`);
}

const twilioApi = (settings: DeliverySettings): SmsApi => ({
  url: `${settings.TWILIO_URL}/2010-04-01/Accounts/${encodeURIComponent(settings.TWILIO_ACCOUNT_SID ?? '')}/Messages.json`,
  headers: {
    authorization: basicAuth(settings.TWILIO_ACCOUNT_SID, settings.TWILIO_AUTH_TOKEN),
    'content-type': formType,
    accept: 'application/json',
  },
  body: ({ to, from, text }) => {
    const sender = from ?? settings.SMS_FROM ?? '';
    // A messaging service selects the number itself.
    const by = sender.startsWith('MG') ? { MessagingServiceSid: sender } : { From: sender };
    return new URLSearchParams({ To: to, ...by, Body: text }).toString();
  },
  parseId: (status, response) => {
    if (status !== 201 && status !== 200) throwRejection('twilio', status);
    const { sid } = (response ?? {}) as { sid?: unknown };
    return typeof sid === 'string' ? sid : null;
  },
});

const plivoApi = (settings: DeliverySettings): SmsApi => ({
  url: `${settings.PLIVO_URL}/v1/Account/${encodeURIComponent(settings.PLIVO_AUTH_ID ?? '')}/Message/`,
  headers: {
    authorization: basicAuth(settings.PLIVO_AUTH_ID, settings.PLIVO_AUTH_TOKEN),
    'content-type': 'application/json',
    accept: 'application/json',
  },
  body: ({ to, from, text }) =>
    JSON.stringify({ src: from ?? settings.SMS_FROM, dst: to.replace(/^\+/, ''), text, type: 'sms' }),
  parseId: (status, response) => {
    if (status !== 202 && status !== 200) throwRejection('plivo', status);
    const { message_uuid: ids } = (response ?? {}) as { message_uuid?: unknown };
    const first: unknown = Array.isArray(ids) ? ids[0] : ids;
    return typeof first === 'string' ? first : null;
  },
});

/** Vonage's status for too many requests. */
const throttledStatus = '1';
/** Wrong credentials, an account without credit, an internal fault of Vonage. */
const retryableStatuses = new Set(['4', '5', '8', '9', '14']);

const vonageApi = (settings: DeliverySettings): SmsApi => ({
  url: `${settings.VONAGE_URL}/sms/json`,
  headers: { 'content-type': formType, accept: 'application/json' },
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
  parseId: (status, response) => {
    if (status !== 200) throwRejection('vonage', status);
    const { messages } = (response ?? {}) as { messages?: readonly { status?: string; 'message-id'?: string }[] };
    const [first] = messages ?? [];
    if (first?.status === '0') return first['message-id'] ?? null;
    const code = first?.status ?? 'nothing';
    if (code === throttledStatus || retryableStatuses.has(code))
      throw new TransientSendError(`vonage returned status ${code}`, { isOutage: code !== throttledStatus });
    throw new PermanentSendError(`vonage returned status ${code}`);
  },
});
