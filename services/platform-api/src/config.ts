import { type ConfigOf, commonEnv, envSchema, readEnv } from '@fleet/service-kit';

export const schema = envSchema({
  ...commonEnv,
  HTTP_PORT: {
    type: 'integer',
    minimum: 0,
    maximum: 65_535,
    default: 8082,
    description: 'port of the Platform API, the start page, health and metrics; 0 picks a free one',
  },
  BOOTSTRAP_OWNER_EMAIL: {
    type: 'string',
    optional: true,
    pattern: '^[^@\\s]+@[^@\\s]+$',
    description: 'e-mail of the first owner, who is made when absent',
  },
  BOOTSTRAP_OWNER_PASSWORD: {
    type: 'string',
    optional: true,
    secret: true,
    minLength: 10,
    description: 'password of the first owner; a later change of this setting changes nothing',
  },
  BOOTSTRAP_API_KEY: {
    type: 'string',
    optional: true,
    secret: true,
    pattern: '^fk_[A-Za-z0-9_-]{43}$',
    description: "API key of the first owner's account, recorded when absent; only its hash is stored",
  },
});

export type Config = ConfigOf<typeof schema>;

export const loadConfig = (env: NodeJS.ProcessEnv): Config => readEnv(schema, env);
