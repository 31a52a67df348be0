import { ConfigError, type ConfigOf, envSchema } from '../runtime/config.ts';
import { splitSecrets } from './stream-tokens.ts';

const developmentSecret = 'development-stream-token-secret';
const minSecretLength = 16;

/** Settings of the services that issue or verify stream tokens. */
export const streamTokenSettings = envSchema({
  STREAM_TOKEN_SECRET: {
    type: 'string',
    default: developmentSecret,
    secret: true,
    minLength: minSecretLength,
    description:
      'signs stream tokens; the same in device-api and platform-api; several secrets separated by commas: the first signs, all verify',
  },
  STREAM_TOKEN_SECONDS: {
    type: 'integer',
    minimum: 10,
    maximum: 86_400,
    default: 600,
    description: 'seconds for which a stream token opens a stream; an open stream outlives it',
  },
});

/** Throws for a secret that is too short, and in production for the published default. */
export function checkStreamTokenSettings(
  config: Pick<ConfigOf<typeof streamTokenSettings>, 'STREAM_TOKEN_SECRET'> & { readonly NODE_ENV: string },
): void {
  const secrets = splitSecrets(config.STREAM_TOKEN_SECRET);
  if (secrets.length === 0 || secrets.some(({ length }) => length < minSecretLength))
    throw new ConfigError(`STREAM_TOKEN_SECRET has a secret of fewer than ${minSecretLength} characters.`);
  if (config.NODE_ENV === 'production' && secrets.includes(developmentSecret))
    throw new ConfigError('STREAM_TOKEN_SECRET has its development value. Set your own.');
}
