import { findVisibleAccount } from '../domains/accounts/commands.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { findKeyById } from '../domains/api-keys/use-cases.ts';
import { findUserById } from '../domains/users/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { Caller } from './caller.ts';
import type { Principals } from './principals.ts';

/** The credentials on which something lasting depends: a websocket or an open stream. */
type HolderCredentials = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId'>;

/** The user of such credentials, in the account in which the user acts. */
export interface TokenUser {
  readonly caller: Pick<Caller, 'accountId' | 'userId' | 'role' | 'canViewVideo'>;
  readonly homeAccountId: number;
  /** The API key without which the credentials are not valid. */
  readonly key: ApiKey | null;
}

/** Reason of a rejected user. */
export type Refusal = 'token' | 'suspended';

/** Returns the user whose credentials are still valid, or why they are not. */
export async function findTokenUser(
  records: RecordStore,
  findPrincipal: Principals['findPrincipal'],
  { accountId, userId, sessionId, mintedByKeyId, keyId }: HolderCredentials,
): Promise<TokenUser | Refusal> {
  const homeAccountId = (await findUserById(records, userId))?.accountId;
  if (homeAccountId === undefined) return 'token';
  // As with requests: the token of a key is valid only where and while that key is.
  const boundKeyId = keyId ?? (sessionId === null ? mintedByKeyId : null);
  const key = boundKeyId === null ? null : await findKeyById(records, { accountId: homeAccountId }, boundKeyId);
  if (boundKeyId !== null && key === null) return 'token';
  const claims = { accountId: homeAccountId, userId, sessionId, mintedByKeyId, role: 'viewer' } as const;
  const principal = await findPrincipal(claims);
  if (principal === null) return 'token';
  if (principal.isSuspended) return 'suspended';
  const { role, canViewVideo } = principal.user;
  // Staff of the operator and dealers may have begun in the account of a customer.
  const home = { accountId: homeAccountId, role };
  if (homeAccountId !== accountId && (await findVisibleAccount(records, home, accountId)) === null) return 'token';
  return { caller: { accountId, userId, role, canViewVideo }, homeAccountId, key };
}
