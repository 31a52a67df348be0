import {
  adminSettings,
  ConfigError,
  type ConfigOf,
  commonEnv,
  envSchema,
  findSecretFault,
  hourMs,
  isLoopback,
  parseOrigins,
  readEnv,
} from '@fleet/service-kit';
import { checkStreamTokenSettings, streamTokenSettings } from '@fleet/service-kit/stream-tokens';

const portSchema = { type: 'integer', minimum: 0, maximum: 65_535 } as const;
const countSchema = { type: 'integer', minimum: 1, maximum: 1_000_000 } as const;
const durationSchema = { type: 'integer', minimum: 1, maximum: hourMs } as const;

/** Every setting of the service; the README's table lists the same. */
export const configSchema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    ...portSchema,
    default: 8083,
    description: 'port of the Device API; 0 picks a free one',
  },
  ...adminSettings(8091),
  VIDEO_HTTP_PORT: { ...portSchema, default: 8081, description: 'port of the video service; 0 picks a free one' },
  MEDIA_PUBLIC_HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'host to which cameras stream',
    minLength: 1,
  },
  MEDIA_LIVE_PORT: { ...portSchema, default: 7078, description: 'port of live video, as sent to cameras' },
  MEDIA_HISTORY_PORT: { ...portSchema, default: 7079, description: 'port of recorded video, as sent to cameras' },
  MEDIA_TALK_PORT: { ...portSchema, default: 7090, description: 'port of talk, as sent to cameras' },
  TALK_MAX_SECONDS: {
    type: 'integer',
    minimum: 1,
    maximum: 3_600,
    default: 600,
    description: 'longest talk with a driver; then its websocket is closed',
  },
  MEDIA_SIGNING_SECRET: {
    type: 'string',
    default: 'development-media-signing-secret',
    secret: true,
    minLength: 16,
    description:
      'signs stream URLs of the media service; the same there; several, separated by commas: the first signs, all verify',
  },
  CLIPS_SIGNING_SECRET: {
    type: 'string',
    default: 'development-clips-signing-secret',
    secret: true,
    minLength: 16,
    description:
      'signs clip URLs of upload-ftp; the same there; several, separated by commas: the first signs, all verify',
  },
  ...streamTokenSettings,
  DEVICE_API_AUTH: {
    type: 'string',
    optional: true,
    enum: ['off', 'key'],
    description: 'key requires x-api-key; off when HOST is loopback, else key',
  },
  DEVICE_API_ALLOW_OPEN: {
    type: 'boolean',
    default: false,
    description: 'permits DEVICE_API_AUTH=off with NODE_ENV=production',
  },
  PUBLIC_BASE_URL: {
    type: 'string',
    default: 'http://127.0.0.1:8080',
    pattern: '^https?://[^\\s]+[^/\\s]$',
    description: 'base URL of the platform, whose pages may read video',
  },
  CORS_ORIGINS: {
    type: 'string',
    optional: true,
    description:
      'origins, separated by commas, whose pages may call the video service and read streams; * for all; default: that of PUBLIC_BASE_URL',
  },
  DEVICE_HOST_ALLOWLIST: {
    type: 'string',
    optional: true,
    description: 'hosts, separated by commas, to which callers may send cameras; any when absent',
  },
  TRUST_PROXY: {
    type: 'string',
    default: 'loopback',
    description: 'trusted proxies: addresses or networks, separated by commas, whose X-Forwarded-For is used',
  },
  DEVICE_REPLY_TIMEOUT_MS: { ...durationSchema, default: 90_000, description: 'time-out of a device; then 504' },
  DEVICE_RETURN_WAIT_MS: {
    type: 'integer',
    minimum: 1,
    maximum: 90_000,
    default: 60_000,
    description: 'wait for the reconnection of a device whose gateway has stopped or died; then 404',
  },
  UPLOAD_CONTROL_TIMEOUT_MS: {
    ...durationSchema,
    default: 15_000,
    description: 'time-out of a device for pause, resume and cancel of an upload; then 504',
  },
  REQUEST_TIMEOUT_MS: {
    formerName: 'REQUEST_LIMIT_MS',
    ...durationSchema,
    default: 95_000,
    description: 'time-out of a request; then 503',
  },
  FIRST_PACKET_WAIT_MS: {
    ...durationSchema,
    default: 15_000,
    description: 'wait of a viewer for the first packet of a camera that has accepted; then 502',
  },
  WAKE_SMS_URL: {
    type: 'string',
    optional: true,
    // It may contain a provider's key.
    secret: true,
    pattern: '^https?://[^\\s]+$',
    description: 'URL to which wake-up SMS are posted as JSON {to, text}; none are sent when absent',
  },
  WAKE_SMS_TOKEN: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^[\\x21-\\x7e]+$',
    description: 'sent to that provider as Authorization: Bearer',
  },
  WAKE_SMS_TEXT: {
    type: 'string',
    default: 'WAKEUP#',
    minLength: 1,
    description: 'text of such an SMS, as specified by the makers of the terminals',
  },
  WAKE_SMS_NUMBER_PREFIX: {
    type: 'string',
    default: '',
    pattern: '^\\+?\\d{0,7}$',
    description: 'prefix of the terminal number, which is the phone number, in such an SMS: +86',
  },
  WAKE_SMS_AFTER_MS: {
    ...durationSchema,
    default: 5_000,
    description: 'silence of a connected device before such an SMS; a disconnected device is sent one immediately',
  },
  WAKE_SMS_EVERY_MS: { ...durationSchema, default: 120_000, description: 'interval between two such SMS to a device' },
  WAKE_SMS_TIMEOUT_MS: { ...durationSchema, default: 5_000, description: 'time-out of the SMS provider' },
  PARTNER_COMMAND_ENABLED: {
    type: 'boolean',
    default: false,
    description: "enables POST /api/device/sendInstruct for partners' clients; 404 without it",
  },
  DRAIN_DELAY_MS: {
    type: 'integer',
    minimum: 0,
    maximum: 600_000,
    default: 0,
    description: 'drain delay: /readyz is 503 while requests are still accepted',
  },
  STOP_GRACE_MS: { ...durationSchema, default: 25_000, description: 'wait for pending requests at shutdown; then 503' },
  RATE_LIMIT_READS_PER_SECOND: {
    ...countSchema,
    default: 100,
    description: 'reads per key, or per address without one',
  },
  RATE_LIMIT_READS_BURST: { ...countSchema, default: 200, description: 'burst of reads' },
  RATE_LIMIT_COMMANDS_PER_MINUTE: { ...countSchema, default: 120, description: 'commands per device' },
  RATE_LIMIT_COMMANDS_BURST: { ...countSchema, default: 60, description: 'burst of commands per device' },
  RATE_LIMIT_STREAM_OPENS_PER_MINUTE: {
    ...countSchema,
    default: 30,
    description: 'stream.flv requests per channel, and their burst',
  },
  RATE_LIMIT_HEALTH_PER_SECOND: { ...countSchema, default: 20, description: 'health requests per address' },
  RATE_LIMIT_HEALTH_BURST: { ...countSchema, default: 60, description: 'burst of health requests' },
  MAX_STREAMS_PER_ACCOUNT: {
    ...countSchema,
    default: 50,
    description: 'concurrent streams of an account, live and recorded, unless the account has its own `max_streams`',
  },
  RATE_LIMIT_VIEWERS_PER_CHANNEL: { ...countSchema, default: 20, description: 'concurrent viewers of one channel' },
  RATE_LIMIT_CHANNELS_PER_DEVICE: {
    ...countSchema,
    default: 16,
    description: 'concurrently streaming channels of one device',
  },
});

/** Settings, including derived ones. */
export type Config = Omit<ConfigOf<typeof configSchema>, 'DEVICE_API_AUTH'> & {
  readonly DEVICE_API_AUTH: 'off' | 'key';
};

const isProduction = (config: { NODE_ENV: string }): boolean => config.NODE_ENV === 'production';

/** Parses the environment; throws a ConfigError with every fault. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const config = readEnv(configSchema, env);
  const auth = config.DEVICE_API_AUTH ?? (isLoopback(config.HOST) ? 'off' : 'key');
  if (isProduction(config) && auth === 'off' && !config.DEVICE_API_ALLOW_OPEN)
    throw new ConfigError(
      'DEVICE_API_AUTH is off with NODE_ENV=production. Set DEVICE_API_AUTH=key, or DEVICE_API_ALLOW_OPEN=true on a trusted network.',
    );
  for (const name of ['MEDIA_SIGNING_SECRET', 'CLIPS_SIGNING_SECRET'] as const) {
    const { default: developmentSecret, minLength } = configSchema[name];
    const rules = { minLength, developmentSecret, isProduction: isProduction(config) };
    const fault = findSecretFault(name, config[name], rules);
    if (fault !== undefined) throw new ConfigError(fault);
  }
  if (config.CORS_ORIGINS !== undefined) parseOrigins('CORS_ORIGINS', config.CORS_ORIGINS);
  checkStreamTokenSettings(config);
  return { ...config, DEVICE_API_AUTH: auth };
}
