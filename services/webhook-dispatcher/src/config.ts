import { streamEnv } from '@fleet/bus';
import {
  adminSettings,
  ConfigError,
  type ConfigOf,
  commonEnv,
  developmentEncryptionKey,
  envSchema,
  findSecretFault,
  readEnv,
} from '@fleet/service-kit';

const milliseconds = { type: 'integer', minimum: 1, maximum: 2_000_000_000 } as const;

export const schema = envSchema({
  ...commonEnv,
  ...adminSettings(8087),
  ENCRYPTION_KEY: {
    type: 'string',
    default: developmentEncryptionKey,
    secret: true,
    minLength: 32,
    description: 'decrypts the stored webhook secrets; the same as that of platform-api',
  },
  WEBHOOK_ALLOW_HTTP: {
    type: 'boolean',
    default: false,
    description: 'allow plain http and port 80, for private installations and tests; as in platform-api',
  },
  WEBHOOK_ALLOWED_CIDRS: {
    type: 'string',
    default: '',
    description: 'allowed networks of webhooks that are not public, separated by commas; as in platform-api',
  },
  WEBHOOK_CA_FILE: {
    type: 'string',
    optional: true,
    description: 'PEM file of trusted authorities in addition to the public ones',
  },
  WEBHOOK_CONNECT_TIMEOUT_MS: {
    ...milliseconds,
    default: 5_000,
    description: 'time-out of a connection, TLS included',
  },
  WEBHOOK_ATTEMPT_TIMEOUT_MS: { ...milliseconds, default: 15_000, description: 'time-out of an attempt' },
  WEBHOOK_RETRY_WAITS_MS: {
    type: 'string',
    default: '5000,30000,120000,600000,1800000,7200000,18000000,36000000',
    pattern: '^\\d{1,9}(,\\d{1,9}){0,49}$',
    description:
      'back-off after the first failed attempt, the second and so on; after the last one the delivery has failed',
  },
  WEBHOOK_OVERLOAD_WAIT_MS: {
    ...milliseconds,
    default: 60_000,
    description: 'shortest back-off after 429, 503 and a time-out',
  },
  WEBHOOK_BREAKER_OPEN_MS: {
    ...milliseconds,
    default: 30_000,
    description: 'pause of a webhook after 10 failures in a row, or 70 % of at least 10 in 5 minutes',
  },
  WEBHOOK_DISABLE_AFTER_MS: {
    ...milliseconds,
    default: 432_000_000,
    description:
      'a webhook that fails for this long without a success is disabled; its owner is notified at 50, 90 and 100 %',
  },
  WEBHOOK_CONCURRENCY: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: 20,
    description: 'concurrent attempts to a webhook, in each replica',
  },
  WEBHOOK_MAX_IN_FLIGHT: {
    type: 'integer',
    minimum: 1,
    maximum: 60_000,
    default: 4_000,
    description: 'pending first attempts of all replicas together',
  },
  WEBHOOK_ACK_WAIT_MS: {
    ...milliseconds,
    default: 15_000,
    description: 'time after which work of a dead replica is taken over',
  },
  WEBHOOK_SWEEP_MS: { ...milliseconds, default: 1_000, description: 'poll interval of later attempts' },
  WEBHOOK_NOTICES_MS: {
    ...milliseconds,
    default: 15_000,
    description: 'retry interval of owner notices that could not be published',
  },
  WEBHOOK_REPLAY_PER_SECOND: {
    type: 'integer',
    minimum: 1,
    maximum: 1_000,
    default: 10,
    description: 'deliveries of a replay per second',
  },
  WEBHOOK_RETENTION_DAYS: {
    formerName: 'WEBHOOK_KEEP_DAYS',
    type: 'integer',
    minimum: 1,
    maximum: 3_650,
    default: 30,
    description: 'age at which deliveries and their attempts are deleted',
  },
  ...streamEnv,
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  const fault = findSecretFault('ENCRYPTION_KEY', config.ENCRYPTION_KEY, {
    minLength: schema.ENCRYPTION_KEY.minLength,
    developmentSecret: developmentEncryptionKey,
    isProduction: config.NODE_ENV === 'production',
  });
  if (fault !== undefined) throw new ConfigError(fault);
  return config;
}

/** Parses a list of numbers of a setting. */
export const parseNumbers = (text: string): number[] => text.split(',').map(Number);
