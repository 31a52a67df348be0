import {
  ConfigError,
  type ConfigOf,
  commonEnv,
  developmentEncryptionKey,
  envSchema,
  readEnv,
} from '@fleet/service-kit';
import { checkStreamTokenSettings, streamTokenSettings } from '@fleet/service-kit/stream-tokens';
import { checkMediaSettings, mediaSettings } from '../domains/media/settings.ts';
import { partnerSettings } from '../domains/partners/settings.ts';
import { attachmentSettings } from '../event-consumers/attachment-settings.ts';
import { mailSettings, readSmtpServer } from '../mail/mail-settings.ts';
import { checkMapSettings, mapSettings } from '../maps/settings.ts';
import { checkDeliverySettings, deliverySettings } from '../notification-delivery/delivery-settings.ts';
import { ruleSettings } from '../rules/settings.ts';

const count = { type: 'integer', minimum: 1, maximum: 1_000_000 } as const;

export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8082,
    description: 'port of the Platform API, the start page, health and metrics; 0 picks a free one',
  },
  PLATFORM_ROLES: {
    type: 'string',
    default: 'api,websocket,telemetry',
    pattern: '^(api|websocket|telemetry)(,(api|websocket|telemetry))*$',
    description:
      'roles of this process, so that each scales separately: the HTTP API, the websocket, the telemetry consumer',
  },
  BOOTSTRAP_OWNER_EMAIL: {
    type: 'string',
    optional: true,
    pattern: '^[^@\\s]+@[^@\\s]+$',
    description: 'e-mail of the first owner, who is created if absent',
  },
  BOOTSTRAP_OWNER_PASSWORD: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 10,
    description: 'password of the first owner; later changes of this setting have no effect',
  },
  BOOTSTRAP_API_KEY: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^fk_[A-Za-z0-9_-]{43}$',
    description: "API key of the first owner's account, created if absent; only its hash is stored",
  },
  BOOTSTRAP_DEMO_TERMINALS: {
    type: 'string',
    default: '',
    pattern: '^(\\d{12,20}(,\\d{12,20})*)?$',
    description:
      "terminal numbers, separated by commas: a demo fleet with them is created once in the first owner's account",
  },
  ALLOWED_ORIGINS: {
    type: 'string',
    default: '',
    description:
      'origins in addition to that of PUBLIC_BASE_URL, separated by commas, whose pages may use dashboard keys',
  },
  TRUST_PROXY: {
    type: 'string',
    default: 'loopback',
    description: 'trusted proxies: addresses or networks, separated by commas, whose X-Forwarded-For is used',
  },
  PUBLIC_BASE_URL: {
    type: 'string',
    default: 'http://127.0.0.1:8080',
    pattern: '^https?://[^\\s]+[^/\\s]$',
    description: 'base URL under which users and partners reach the platform, for links in messages and responses',
  },
  WS_URL: {
    type: 'string',
    optional: true,
    pattern: '^wss?://[^\\s]+$',
    description: 'URL of the websocket for clients; default: /ws of PUBLIC_BASE_URL',
  },
  VIDEO_BASE_URL: {
    type: 'string',
    default: 'http://127.0.0.1:8081',
    pattern: '^https?://[^\\s]+[^/\\s]$',
    description: 'base URL under which players reach the video service, for the URLs of streams',
  },
  WEBHOOK_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: 'accepts webhooks with plain http and port 80, for private installations and tests',
  },
  WEBHOOK_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description: 'non-public networks, separated by commas, that webhooks may address',
  },
  ...deliverySettings,
  ENCRYPTION_KEY: {
    type: 'string',
    default: developmentEncryptionKey,
    secret: true,
    minLength: 32,
    description:
      'encrypts stored secrets (signing keys, webhook secrets, two-factor secrets); several keys separated by commas: the first encrypts, all decrypt',
  },
  SIGNUP_ENABLED: {
    type: 'boolean',
    default: true,
    description: 'lets anyone open an account by POST /api/auth/register',
  },
  MAIL_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives mails as JSON {to, subject, text}; without it and without SMTP mails are logged',
  },
  MAIL_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
  ...mailSettings,
  SMS_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives SMS as JSON {to, text}; without it SMS are logged',
  },
  SMS_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
  PAYMENT_GATEWAY: {
    type: 'string',
    default: 'offline',
    enum: ['stripe', 'razorpay', 'offline'],
    description: 'payment gateway for orders; offline: an admin marks orders paid',
  },
  PLANS_FILE: {
    type: 'string',
    optional: true,
    description: 'JSON file of plans, prices and coupons; the service includes an example',
  },
  BILLING_RETURN_URLS: {
    type: 'string',
    default: '',
    description:
      'URLs, separated by commas, in addition to PUBLIC_BASE_URL, below which the billing portal may redirect',
  },
  ERASURE_DAYS: {
    type: 'integer',
    minimum: 0,
    maximum: 29,
    default: 14,
    description: 'days after which personal fields of deleted accounts and users are removed',
  },
  ENFORCE_SUBSCRIPTIONS: {
    type: 'boolean',
    default: false,
    description: 'responds with 402 to commands, shares and links for a vehicle without an active subscription',
  },
  COMMAND_POLL_MS: {
    type: 'integer',
    minimum: 10,
    maximum: 60_000,
    default: 2_000,
    description: 'how often the command queue checks for terminals that have connected',
  },
  COMMAND_REPLY_TIMEOUT_MS: {
    type: 'integer',
    minimum: 100,
    maximum: 110_000,
    default: 90_000,
    description: 'how long a queued command waits for the response of its terminal',
  },
  STRIPE_SECRET_KEY: { type: 'string', optional: true, secret: true, description: 'secret key of the Stripe account' },
  STRIPE_PUBLISHABLE_KEY: {
    type: 'string',
    optional: true,
    description: 'publishable key of that account, sent to clients',
  },
  STRIPE_WEBHOOK_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    description: 'secret of the webhook for /api/subscription/gateway-webhook/stripe',
  },
  STRIPE_URL: {
    type: 'string',
    default: 'https://api.stripe.com',
    pattern: '^https?://[^\\s/]+$',
    description: "base URL of Stripe's API",
  },
  RAZORPAY_KEY_ID: { type: 'string', optional: true, description: 'key id of the Razorpay account, sent to clients' },
  RAZORPAY_KEY_SECRET: { type: 'string', optional: true, secret: true, description: 'secret of that key' },
  RAZORPAY_WEBHOOK_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    description: 'secret of the webhook for /api/subscription/gateway-webhook/razorpay',
  },
  RAZORPAY_URL: {
    type: 'string',
    default: 'https://api.razorpay.com',
    pattern: '^https?://[^\\s/]+$',
    description: "base URL of Razorpay's API",
  },
  JWT_ISSUER: { type: 'string', default: 'fleet-platform', minLength: 1, description: '`iss` of access tokens' },
  SIGNING_KEY_DAYS: {
    type: 'integer',
    minimum: 1,
    maximum: 3650,
    default: 90,
    description: 'age at which the key that signs access tokens is replaced; the previous key stays valid',
  },
  LOCATION_RETENTION_DAYS: {
    formerName: 'LOCATIONS_KEPT_DAYS',
    type: 'integer',
    minimum: 1,
    maximum: 36_500,
    default: 730,
    description:
      'days for which one position in 5 minutes is stored, after the days for which an account stores all positions',
  },
  TELEMETRY_PARTITIONS: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    default: 1,
    description: 'number of telemetry subjects, the same in all services',
  },
  JETSTREAM_REPLICAS: {
    type: 'integer',
    minimum: 1,
    maximum: 5,
    default: 1,
    description: 'replicas of streams that this service creates; 3 in production',
  },
  ...partnerSettings,
  ...mediaSettings,
  ...streamTokenSettings,
  CHAT_GENERIC_SECRET: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 16,
    description: 'verifies requests of the SMS and voice provider `generic`; without it they are rejected with 401',
  },
  TWILIO_AUTH_TOKEN: { type: 'string', optional: true, secret: true, description: 'verifies requests of Twilio' },
  PLIVO_AUTH_TOKEN: { type: 'string', optional: true, secret: true, description: 'verifies requests of Plivo' },
  VONAGE_SIGNATURE_SECRET: { type: 'string', optional: true, secret: true, description: 'verifies requests of Vonage' },
  VAPI_SECRET: { type: 'string', optional: true, secret: true, description: 'verifies requests of Vapi' },
  SMS_COMMANDS: {
    type: 'boolean',
    default: false,
    description: "responds to the SMS `WHERE <vehicle number>` and `STATUS <vehicle number>` from users' own phones",
  },
  OCR_ENGINE: {
    type: 'string',
    default: 'tesseract',
    enum: ['tesseract', 'http', 'none'],
    description:
      'engine that reads text from pictures of documents; none: reads only text, the text of barcodes and that of PDFs',
  },
  OCR_HTTP_URL: {
    type: 'string',
    optional: true,
    // The URL may contain a key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL that receives a picture with OCR_ENGINE=http and returns {text, confidence}',
  },
  OCR_TIMEOUT_MS: {
    type: 'integer',
    minimum: 1000,
    maximum: 300_000,
    default: 20_000,
    description: 'timeout for the text of one picture',
  },
  ...mapSettings,
  TOLL_GATES_FILE: {
    type: 'string',
    optional: true,
    description: 'CSV or JSON file of toll gates, loaded at start if it has changed; without it there are none',
  },
  ...ruleSettings,
  ...attachmentSettings,
  RATE_LIMIT_PLATFORM_PER_MINUTE: { ...count, default: 600, description: 'requests of an API key' },
  RATE_LIMIT_PLATFORM_BURST: { ...count, default: 100, description: 'burst of requests of an API key' },
  RATE_LIMIT_LOGIN_PER_MINUTE: {
    ...count,
    default: 20,
    description: 'log-ins of an IP address, and with an identifier',
  },
  RATE_LIMIT_CODES_PER_HOUR: { ...count, default: 5, description: 'one-time codes sent to a phone' },
  RATE_LIMIT_GEOCODE_PER_MINUTE: {
    ...count,
    default: 120,
    description: 'geocode, reverse, suggest, route and snap of an API key together',
  },
  RATE_LIMIT_EXTRACTION_PER_MINUTE: { ...count, default: 10, description: 'documents extracted for a user' },
  RATE_LIMIT_USER_SEARCH_PER_MINUTE: { ...count, default: 10, description: 'user searches for sharing by a user' },
  RATE_LIMIT_DEVICE_LOOKUP_PER_MINUTE: {
    ...count,
    default: 10,
    description: 'look-ups of a terminal without a vehicle by a user',
  },
  RATE_LIMIT_SHARE_LINK_PER_MINUTE: { ...count, default: 60, description: 'share links opened by an IP address' },
  RATE_LIMIT_PARTNER_PER_SECOND: { ...count, default: 100, description: 'requests of a partner token' },
  RATE_LIMIT_TEST_MAIL_PER_HOUR: { ...count, default: 10, description: 'test mails of an account' },
  RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE: { ...count, default: 10, description: 'tests and manual retries of a webhook' },
  RATE_LIMIT_CAPTURE_PER_MINUTE: { ...count, default: 6, description: 'media captures of a vehicle' },
  RATE_LIMIT_COMMANDS_PER_MINUTE: { ...count, default: 120, description: 'commands per device, as in device-api' },
  RATE_LIMIT_COMMANDS_BURST: { ...count, default: 60, description: 'burst of commands per device' },
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  if (config.NODE_ENV === 'production' && config.ENCRYPTION_KEY === developmentEncryptionKey)
    throw new ConfigError('ENCRYPTION_KEY has its development value. Set your own.');
  checkMapSettings(config);
  checkDeliverySettings(config);
  if (readSmtpServer(config) !== null && config.MAIL_URL !== undefined)
    throw new ConfigError('Set MAIL_URL or a mail server (SMTP_URL, SMTP_HOST), not both.');
  checkMediaSettings(config);
  checkStreamTokenSettings(config);
  return config;
}

/** Roles of the service that a process may have. */
export type Role = 'api' | 'websocket' | 'telemetry';

/** Parses PLATFORM_ROLES. */
export const parseRoles = (setting: string): ReadonlySet<Role> => new Set(setting.split(',') as Role[]);
