import { ConfigError, type ConfigOf, developmentEncryptionKey, findSecretFault } from '@fleet/service-kit';

/** Settings of authentication and of personal data. */
export const accessSettings = {
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
  ENCRYPTION_KEY: {
    type: 'string',
    default: developmentEncryptionKey,
    secret: true,
    minLength: 32,
    description:
      'encrypts stored secrets (signing keys, webhook secrets, two-factor secrets); several keys separated by commas: the first encrypts, all decrypt',
  },
  JWT_ISSUER: { type: 'string', default: 'fleet-platform', minLength: 1, description: '`iss` of access tokens' },
  SIGNING_KEY_DAYS: {
    type: 'integer',
    minimum: 1,
    maximum: 3650,
    default: 90,
    description: 'age at which the key that signs access tokens is replaced; the previous key stays valid',
  },
  SIGNUP_ENABLED: {
    type: 'boolean',
    default: true,
    description: 'lets anyone open an account by POST /api/auth/register',
  },
  ERASURE_DAYS: {
    type: 'integer',
    minimum: 0,
    maximum: 29,
    default: 14,
    description: 'days after which personal fields of deleted accounts and users are removed',
  },
} as const;

/** Throws if production has the development key. */
export function checkAccessSettings(config: ConfigOf<typeof accessSettings> & { readonly NODE_ENV: string }): void {
  const fault = findSecretFault('ENCRYPTION_KEY', config.ENCRYPTION_KEY, {
    minLength: accessSettings.ENCRYPTION_KEY.minLength,
    developmentSecret: developmentEncryptionKey,
    isProduction: config.NODE_ENV === 'production',
  });
  if (fault !== undefined) throw new ConfigError(fault);
}
