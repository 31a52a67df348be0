import type { Static } from 'typebox';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { ApiKey, keySchema } from './schema.ts';

export const toApiKeyResponse = (key: ApiKey): Static<typeof keySchema> => ({
  ...toRecordResponse(key),
  name: key.name,
  key_hint: key.hint,
  scopes: [...key.scopes],
  ip_allowlist: [...key.ipAllowlist],
  expires_at: formatTime(key.expiresAt),
  can_mint_tokens: key.canMintTokens,
  created_by: key.userId,
});
