import { ConfigError, type ConfigOf, envSchema } from '@fleet/service-kit';

const secret = { type: 'string', optional: true, secret: true } as const;
const base = { type: 'string', pattern: '^https?://[^\\s/]+$' } as const;

/** Who sends text and push messages about notifications. The tokens that check what providers send stand beside the chat log's settings. */
export const senderSettings = envSchema({
  SMS_PROVIDER: {
    type: 'string',
    default: 'log',
    enum: ['log', 'twilio', 'plivo', 'vonage'],
    description: 'who sends text messages, codes too; log posts them to SMS_URL, without it they go to the log',
  },
  SMS_FROM: {
    type: 'string',
    optional: true,
    minLength: 1,
    maxLength: 20,
    description: 'number or name that text messages come from, where an account has no sender_id',
  },
  TWILIO_ACCOUNT_SID: { type: 'string', optional: true, description: 'account that SMS_PROVIDER=twilio sends with' },
  TWILIO_URL: { ...base, default: 'https://api.twilio.com', description: "where Twilio's API is" },
  PLIVO_AUTH_ID: { type: 'string', optional: true, description: 'account that SMS_PROVIDER=plivo sends with' },
  PLIVO_URL: { ...base, default: 'https://api.plivo.com', description: "where Plivo's API is" },
  VONAGE_API_KEY: { type: 'string', optional: true, description: 'account that SMS_PROVIDER=vonage sends with' },
  VONAGE_API_SECRET: { ...secret, description: 'secret of that account' },
  VONAGE_URL: { ...base, default: 'https://rest.nexmo.com', description: "where Vonage's SMS API is" },
  PUSH_PROVIDER: {
    type: 'string',
    default: 'log',
    enum: ['log', 'fcm'],
    description: 'who sends push messages; log writes them to the log',
  },
  FCM_SERVICE_ACCOUNT: {
    ...secret,
    description: "service account of the Firebase project that PUSH_PROVIDER=fcm sends with: the key file's JSON",
  },
  FCM_URL: { ...base, default: 'https://fcm.googleapis.com', description: 'where Firebase Cloud Messaging is' },
});

/** The settings as read, with the tokens that also check what providers send. */
export type SenderSettings = ConfigOf<typeof senderSettings> & {
  readonly TWILIO_AUTH_TOKEN?: string | undefined;
  readonly PLIVO_AUTH_TOKEN?: string | undefined;
};

const needs: Readonly<Record<string, readonly (keyof SenderSettings)[]>> = {
  twilio: ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN'],
  plivo: ['PLIVO_AUTH_ID', 'PLIVO_AUTH_TOKEN', 'SMS_FROM'],
  vonage: ['VONAGE_API_KEY', 'VONAGE_API_SECRET', 'SMS_FROM'],
  fcm: ['FCM_SERVICE_ACCOUNT'],
};

/** What a Firebase service account's key file holds, as far as it is used. */
export interface ServiceAccount {
  readonly project_id: string;
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri: string;
}

/** Reads the JSON of a key file; throws a ConfigError without its text, which is secret. */
export function serviceAccountOf(text: string): ServiceAccount {
  let account: Partial<ServiceAccount> | null;
  try {
    account = JSON.parse(text) as Partial<ServiceAccount> | null;
  } catch {
    throw new ConfigError('FCM_SERVICE_ACCOUNT is no JSON.');
  }
  const { project_id, client_email, private_key, private_key_id, token_uri } = account ?? {};
  if (!project_id || !client_email || !private_key)
    throw new ConfigError('FCM_SERVICE_ACCOUNT needs project_id, client_email and private_key.');
  return {
    project_id,
    client_email,
    private_key,
    token_uri: token_uri ?? 'https://oauth2.googleapis.com/token',
    ...(private_key_id === undefined ? {} : { private_key_id }),
  };
}

/** Throws a ConfigError where a provider is named without what it needs. */
export function checkSenderSettings(settings: SenderSettings): void {
  const faults = (['SMS_PROVIDER', 'PUSH_PROVIDER'] as const).flatMap((role) => {
    const missing = (needs[settings[role]] ?? []).filter((name) => settings[name] === undefined);
    return missing.length === 0 ? [] : [`${role}=${settings[role]} needs ${missing.join(', ')}`];
  });
  if (faults.length > 0) throw new ConfigError(`The configuration is wrong: ${faults.join('; ')}.`);
  if (settings.FCM_SERVICE_ACCOUNT !== undefined) serviceAccountOf(settings.FCM_SERVICE_ACCOUNT);
}
