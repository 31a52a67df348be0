import { type ConfigOf, commonEnv, envSchema, readEnv } from '@fleet/service-kit';

export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8087,
    description: 'port of health and metrics; 0 picks a free one',
  },
});

export type Config = ConfigOf<typeof schema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => readEnv(schema, env);
