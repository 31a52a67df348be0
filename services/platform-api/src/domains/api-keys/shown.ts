import type { Static } from 'typebox';
import { shownRecord, shownTime } from '../../schemas.ts';
import type { ApiKey, keySchema } from './schema.ts';

export const shownKey = (key: ApiKey): Static<typeof keySchema> => ({
  ...shownRecord(key),
  name: key.name,
  key_hint: key.hint,
  scopes: [...key.scopes],
  ip_allowlist: [...key.ipAllowlist],
  expires_at: shownTime(key.expiresAt),
  can_mint_tokens: key.canMintTokens,
  created_by: key.userId,
});
