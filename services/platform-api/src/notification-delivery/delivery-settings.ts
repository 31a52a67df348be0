import { ConfigError, type ConfigOf, envSchema, invalidConfigError } from '@fleet/service-kit';

const secret = { type: 'string', optional: true, secret: true } as const;
const baseUrl = { type: 'string', pattern: '^https?://[^\\s/]+$' } as const;

/** Settings of SMS and push providers. Tokens of provider callbacks are among the chat log's settings. */
export const deliverySettings = envSchema({
  SMS_PROVIDER: {
    type: 'string',
    default: 'log',
    enum: ['log', 'twilio', 'plivo', 'vonage'],
    description: 'SMS provider, also for codes; log posts them to SMS_URL, or to the log without it',
  },
  SMS_FROM: {
    type: 'string',
    optional: true,
    minLength: 1,
    maxLength: 20,
    description: 'sender number or name of text messages for accounts without a sender_id',
  },
  TWILIO_ACCOUNT_SID: { type: 'string', optional: true, description: 'account of SMS_PROVIDER=twilio' },
  TWILIO_URL: { ...baseUrl, default: 'https://api.twilio.com', description: "address of Twilio's API" },
  PLIVO_AUTH_ID: { type: 'string', optional: true, description: 'account of SMS_PROVIDER=plivo' },
  PLIVO_URL: { ...baseUrl, default: 'https://api.plivo.com', description: "address of Plivo's API" },
  VONAGE_API_KEY: { type: 'string', optional: true, description: 'account of SMS_PROVIDER=vonage' },
  VONAGE_API_SECRET: { ...secret, description: 'secret of that account' },
  VONAGE_URL: { ...baseUrl, default: 'https://rest.nexmo.com', description: "address of Vonage's SMS API" },
  PUSH_PROVIDER: {
    type: 'string',
    default: 'log',
    enum: ['log', 'fcm'],
    description: 'push provider; log writes the messages to the log',
  },
  FCM_SERVICE_ACCOUNT: {
    ...secret,
    description: "service account of the Firebase project of PUSH_PROVIDER=fcm: the key file's JSON",
  },
  FCM_URL: { ...baseUrl, default: 'https://fcm.googleapis.com', description: 'address of Firebase Cloud Messaging' },
});

/** Parsed settings, including tokens of provider callbacks. */
export type DeliverySettings = ConfigOf<typeof deliverySettings> & {
  readonly TWILIO_AUTH_TOKEN?: string | undefined;
  readonly PLIVO_AUTH_TOKEN?: string | undefined;
};

const requiredSettings: Readonly<Record<string, readonly (keyof DeliverySettings)[]>> = {
  twilio: ['TWILIO_ACCOUNT_SID', 'TWILIO_AUTH_TOKEN'],
  plivo: ['PLIVO_AUTH_ID', 'PLIVO_AUTH_TOKEN', 'SMS_FROM'],
  vonage: ['VONAGE_API_KEY', 'VONAGE_API_SECRET', 'SMS_FROM'],
  fcm: ['FCM_SERVICE_ACCOUNT'],
};

/** Used fields of a Firebase service account's key file. */
export interface ServiceAccount {
  readonly project_id: string;
  readonly client_email: string;
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri: string;
}

/** Parses the JSON of a key file; throws a ConfigError without its secret text. */
export function parseServiceAccount(text: string): ServiceAccount {
  let account: Partial<ServiceAccount> | null;
  try {
    account = JSON.parse(text) as Partial<ServiceAccount> | null;
  } catch {
    throw new ConfigError('FCM_SERVICE_ACCOUNT is not valid JSON.');
  }
  const { project_id, client_email, private_key, private_key_id, token_uri } = account ?? {};
  if (!project_id || !client_email || !private_key)
    throw new ConfigError('FCM_SERVICE_ACCOUNT must contain project_id, client_email and private_key.');
  return {
    project_id,
    client_email,
    private_key,
    token_uri: token_uri ?? 'https://oauth2.googleapis.com/token',
    ...(private_key_id === undefined ? {} : { private_key_id }),
  };
}

/** Throws a ConfigError if a provider lacks required settings. */
export function checkDeliverySettings(settings: DeliverySettings): void {
  const faults = (['SMS_PROVIDER', 'PUSH_PROVIDER'] as const).flatMap((role) => {
    const missing = (requiredSettings[settings[role]] ?? []).filter((name) => settings[name] === undefined);
    return missing.length === 0 ? [] : [`${role}=${settings[role]} needs ${missing.join(', ')}`];
  });
  if (faults.length > 0) throw invalidConfigError(faults);
  if (settings.FCM_SERVICE_ACCOUNT !== undefined) parseServiceAccount(settings.FCM_SERVICE_ACCOUNT);
}
