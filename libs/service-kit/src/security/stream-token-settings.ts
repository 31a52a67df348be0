import { ConfigError, type ConfigOf, envSchema } from '../runtime/config.ts';
import { findSecretFault } from './secret-list.ts';

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
  const fault = findSecretFault('STREAM_TOKEN_SECRET', config.STREAM_TOKEN_SECRET, {
    minLength: minSecretLength,
    developmentSecret,
    isProduction: config.NODE_ENV === 'production',
  });
  if (fault !== undefined) throw new ConfigError(fault);
}
