import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { findKeyById } from '../api-keys/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { findUser } from '../users/use-cases.ts';
import { toTokenSetResponse } from './token-set.ts';

/** Mints an access token for a server, on behalf of the user who created the key. It expires with the key. */
export async function mintToken(deps: Pick<Deps, 'records' | 'tokens' | 'log'>, caller: Caller) {
  const { accountId, userId, keyId, role } = caller;
  const key = keyId === null ? null : await findKeyById(deps.records, caller, keyId);
  if (key === null || !key.canMintTokens)
    throw new AppError('permission_denied', 'The API key cannot mint tokens. Create one with can_mint_tokens.');
  const user = await findUser(deps.records, caller, userId);
  if (user === null) throw new AppError('api_key_invalid', 'The user of the API key no longer exists.');
  const token = await deps.tokens.issue({ accountId, userId, role, sessionId: null, mintedByKeyId: key._id });
  await audit(deps, caller, 'auth.api-token', { type: 'api_keys', id: key._id });
  return toTokenSetResponse(token, null, user);
}
