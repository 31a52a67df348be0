import { streamEnv } from '@fleet/bus';
import {
  adminSettings,
  ConfigError,
  type ConfigOf,
  commonEnv,
  envSchema,
  findSecretFault,
  parseProxyNetworks,
  proxyProtocolSettings,
  readEnv,
} from '@fleet/service-kit';

// The gateway has no database.
const { MONGODB_URL: _unused, ...shared } = commonEnv;

/** Minimum length of a generated secret. */
const productionSecretLength = 32;

export const schema = envSchema({
  ...shared,
  ...adminSettings(8084),
  JT808_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 7808,
    description: 'TCP port for terminals; 0 selects a free port',
  },
  ...proxyProtocolSettings,
  REGISTRATION_POLICY: {
    type: 'string',
    enum: ['open', 'known'],
    default: 'open',
    description: 'open: any terminal may register; known: only terminals registered in platform-api',
  },
  UNREGISTERED_TERMINALS: {
    type: 'string',
    enum: ['refuse', 'accept'],
    default: 'refuse',
    description:
      'accept: terminals that have never registered may authenticate with any code and report without authentication',
  },
  GATEWAY_AUTH_SECRET: {
    type: 'string',
    minLength: 16,
    secret: true,
    description:
      'secret from which authentication codes are derived; the same in all pods; of several, separated by commas, the first derives new codes and all verify',
  },
  LOGIN_TIMEOUT_MS: {
    type: 'integer',
    minimum: 50,
    default: 60_000,
    description: 'time within which a connection must authenticate',
  },
  SESSION_IDLE_SECONDS: {
    type: 'integer',
    minimum: 1,
    default: 300,
    description: 'time without data after which a terminal is disconnected; must exceed the slowest heartbeat interval',
  },
  CONNECTIONS_PER_ADDRESS: {
    type: 'integer',
    minimum: 0,
    default: 0,
    description:
      'maximum number of connections from one remote address, 0 = no limit; carriers put thousands behind one address',
  },
  WRITE_BUFFER_LIMIT_BYTES: {
    type: 'integer',
    minimum: 4096,
    maximum: 1_048_576,
    default: 262_144,
    description: 'unsent bytes above which a terminal is disconnected',
  },
  TELEMETRY_PARTITIONS: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    default: 1,
    description: 'number of telemetry subjects, the same in all services; 64 for a fleet of a million',
  },
  STORE_BUFFER_BYTES: {
    type: 'integer',
    minimum: 65_536,
    default: 16_777_216,
    description:
      'bytes of reports and events that may wait for JetStream; the rest is dropped unacknowledged, so terminals resend it',
  },
  ...streamEnv,
  COMMANDS_PER_TERMINAL: {
    type: 'integer',
    minimum: 1,
    maximum: 1024,
    default: 32,
    description: 'maximum number of commands in flight per terminal; further commands end as busy',
  },
  WAKE_UP_INTERVAL_MS: {
    type: 'integer',
    minimum: 50,
    default: 10_000,
    description: 'interval at which a wake-up query is repeated until the terminal responds',
  },
  REPLY_SERIAL_ZERO: {
    type: 'string',
    optional: true,
    pattern: '^[0-9A-F]{1,20}(,[0-9A-F]{1,20})*$',
    description: 'numbers of terminals, separated by commas, that always respond with reply serial 0',
  },
  UNKNOWN_MESSAGE_RESULT: {
    type: 'integer',
    minimum: 0,
    maximum: 3,
    default: 3,
    description:
      'result that acknowledges messages outside the standard; 0 for fleets whose terminals repeat them forever',
  },
  IGNORE_CHECKSUM: {
    type: 'boolean',
    default: false,
    description: 'accept frames with a wrong check byte, for terminals with that defect',
  },
  TRUST_ACTUAL_LENGTH: {
    type: 'boolean',
    default: false,
    description: 'accept frames whose declared body length is wrong but whose check byte is right',
  },
  DRAIN_COMMANDS_MS: {
    type: 'integer',
    minimum: 0,
    maximum: 90_000,
    default: 90_000,
    description: 'maximum wait for commands in flight during shutdown',
  },
  DRAIN_SPREAD_MS: {
    type: 'integer',
    minimum: 0,
    maximum: 120_000,
    default: 1_000,
    description: 'time over which terminals are disconnected in batches during shutdown; 30000 in production',
  },
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  parseProxyNetworks(config.PROXY_PROTOCOL_NETWORKS);
  const isProduction = config.NODE_ENV === 'production';
  const minLength = isProduction ? productionSecretLength : schema.GATEWAY_AUTH_SECRET.minLength;
  const fault = findSecretFault('GATEWAY_AUTH_SECRET', config.GATEWAY_AUTH_SECRET, { minLength, isProduction });
  if (fault !== undefined) throw new ConfigError(fault);
  return config;
}
