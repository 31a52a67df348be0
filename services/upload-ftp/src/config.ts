import { ConfigError, type ConfigOf, commonEnv, envSchema, readEnv } from '@fleet/service-kit';

const port = { type: 'integer', minimum: 0, maximum: 65_535 } as const;

export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: { ...port, default: 8086, description: 'port of health and metrics; 0 picks a free one' },
  FTP_PORT: { ...port, default: 2121, description: 'control port of the FTP server; 0 picks a free one' },
  FTP_PUBLIC_HOST: {
    type: 'string',
    default: '127.0.0.1',
    description: 'address that cameras dial for passive transfers',
  },
  FTP_PASV_MIN: { ...port, minimum: 1, default: 30_000, description: 'first passive port' },
  FTP_PASV_MAX: { ...port, minimum: 1, default: 30_099, description: 'last passive port' },
});

export type Config = ConfigOf<typeof schema>;

export function loadConfig(env: NodeJS.ProcessEnv): Config {
  const config = readEnv(schema, env);
  if (config.FTP_PASV_MIN > config.FTP_PASV_MAX)
    throw new ConfigError('The configuration is wrong: FTP_PASV_MIN is above FTP_PASV_MAX.');
  return config;
}
