import {
  ConfigError,
  type ConfigOf,
  commonEnv,
  developmentEncryptionKey,
  envSchema,
  readEnv,
} from '@fleet/service-kit';

const milliseconds = { type: 'integer', minimum: 1, maximum: 2_000_000_000 } as const;

export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8087,
    description: 'port of health and metrics; 0 picks a free one',
  },
  ENCRYPTION_KEY: {
    type: 'string',
    default: developmentEncryptionKey,
    secret: true,
    minLength: 32,
    description: 'opens the stored webhook secrets: the same as that of platform-api',
  },
  WEBHOOK_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: 'send to plain http and port 80 too, for private installations and tests; as in platform-api',
  },
  WEBHOOK_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description:
      'networks, separated by commas, that webhooks may lead to though they are not public; as in platform-api',
  },
  WEBHOOK_CA_FILE: {
    type: 'string',
    optional: true,
    description: 'PEM file of authorities that are trusted beside the public ones',
  },
  WEBHOOK_CONNECT_TIMEOUT_MS: { ...milliseconds, default: 5_000, description: 'limit of a connection, TLS included' },
  WEBHOOK_ATTEMPT_TIMEOUT_MS: { ...milliseconds, default: 15_000, description: 'limit of an attempt' },
  WEBHOOK_RETRY_WAITS_MS: {
    type: 'string',
    default: '5000,30000,120000,600000,1800000,7200000,18000000,36000000',
    pattern: '^\\d{1,9}(,\\d{1,9}){0,49}$',
    description: 'waits after the first failed attempt, the second and so on; after the last one a delivery has failed',
  },
  WEBHOOK_OVERLOAD_WAIT_MS: {
    ...milliseconds,
    default: 60_000,
    description: 'least wait after 429, 503 and an attempt that took too long',
  },
  WEBHOOK_BREAKER_OPEN_MS: {
    ...milliseconds,
    default: 30_000,
    description:
      'how long nothing is sent to a webhook after 10 failures in a row, or 70 % of at least 10 in 5 minutes',
  },
  WEBHOOK_DISABLE_AFTER_MS: {
    ...milliseconds,
    default: 432_000_000,
    description:
      'a webhook that fails for so long without a success is disabled; its owner is told at 50, 90 and 100 %',
  },
  WEBHOOK_CONCURRENCY: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: 20,
    description: 'attempts to a webhook at the same time, in each replica',
  },
  WEBHOOK_MAX_IN_FLIGHT: {
    type: 'integer',
    minimum: 1,
    maximum: 60_000,
    default: 4_000,
    description: 'first attempts under way or waiting for their turn, in all replicas together',
  },
  WEBHOOK_ACK_WAIT_MS: {
    ...milliseconds,
    default: 15_000,
    description: 'what a replica that died was working at is taken over after this time',
  },
  WEBHOOK_SWEEP_MS: { ...milliseconds, default: 1_000, description: 'how often later attempts are looked for' },
  WEBHOOK_NOTICES_MS: {
    ...milliseconds,
    default: 15_000,
    description: 'how often owners are told again what they could not be told at once',
  },
  WEBHOOK_REPLAY_PER_SECOND: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: 10,
    description: 'deliveries of a replay in a second',
  },
  WEBHOOK_KEEP_DAYS: {
    type: 'integer',
    minimum: 1,
    maximum: 3_650,
    default: 30,
    description: 'age at which deliveries and their attempts are removed',
  },
  JETSTREAM_REPLICAS: {
    type: 'integer',
    minimum: 1,
    maximum: 5,
    default: 1,
    description: 'replicas of streams that this service makes; 3 in production',
  },
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  if (config.NODE_ENV === 'production' && config.ENCRYPTION_KEY === developmentEncryptionKey)
    throw new ConfigError('ENCRYPTION_KEY has its development value: set one of your own.');
  return config;
}

/** A list of numbers as a setting writes it. */
export const parseNumbers = (text: string): number[] => text.split(',').map(Number);
