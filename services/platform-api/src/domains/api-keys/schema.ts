import { Type } from 'typebox';
import { trimmedText } from '../../platform/fields.ts';
import { nameEnum, nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** Permissions of an API key (docs/reference/access.md). */
const keyScopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'] as const;

/** One of `keyScopes`. */
export type Scope = (typeof keyScopes)[number];

export interface ApiKey extends AccountRecord {
  readonly name: string;
  readonly keySha256: string;
  /** Last 4 characters of the key, to distinguish keys. */
  readonly hint: string;
  readonly scopes: readonly Scope[];
  /** CIDRs; empty allows every address. */
  readonly ipAllowlist: readonly string[];
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
  /** The user who created the key; null for keys from the settings. */
  readonly userId: number | null;
  readonly canMintTokens: boolean;
  /**
   * The key of the account's dashboard, sealed for the purpose `dashboard key of account <id>`. It is valid only with a
   * session and an allowed origin. Null for all other keys.
   */
  readonly sealedDashboardKey: string | null;
}

const scope = nameEnum(keyScopes);

export const createKeyBody = Type.Object({
  name: trimmedText(1, 100),
  scopes: Type.Optional(
    Type.Array(scope, { minItems: 1, uniqueItems: true, description: 'Default: all scopes but `ingest`.' }),
  ),
  ip_allowlist: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 100,
      description: 'Addresses and networks (CIDR) from which the key is valid. An empty list allows every address.',
      examples: [['203.0.113.0/24']],
    }),
  ),
  expires_at: Type.Optional(nullable(time)),
  can_mint_tokens: Type.Optional(Type.Boolean({ description: 'Allows POST /api/auth/api-token.' })),
});

const keyFields = {
  ...recordProperties,
  name: Type.String(),
  key_hint: Type.String({ description: 'The last 4 characters of the key.' }),
  scopes: Type.Array(scope),
  ip_allowlist: Type.Array(Type.String()),
  expires_at: nullable(time),
  can_mint_tokens: Type.Boolean(),
  created_by: nullable(recordId),
};

export const keySchema = Type.Object(keyFields, { title: 'ApiKey' });

export const newKeySchema = Type.Object(
  {
    ...keyFields,
    // Null in the replay of an idempotent request.
    key: nullable(Type.String({ description: 'The key. Only this response contains it.' })),
  },
  { title: 'NewApiKey' },
);
