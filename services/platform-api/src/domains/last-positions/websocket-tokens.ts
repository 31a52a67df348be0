import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../assembly/config.ts';

/** Seconds for which a token opens connections (docs/reference/websocket.md). */
export const websocketTokenSeconds = 300;

/**
 * Owner of a token. A connection opened with it acts as this user, with the scopes of the API key that requested it. It
 * lasts while that key is valid, and while the session or the key that minted the user's token is valid.
 */
export type TokenHolder = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId' | 'scopes'>;

type KeptHolder = Omit<TokenHolder, 'scopes' | 'mintedByKeyId'> & Partial<TokenHolder>;

/** Redis stores only the hash, so that read access to Redis does not allow opening a connection. */
const keyOf = (token: string): string => `websocket-token:${createHash('sha256').update(token).digest('base64url')}`;

/** Creates a token; throws 503 while Redis is unavailable. */
export async function makeWebsocketToken(redis: Redis, holder: TokenHolder): Promise<string> {
  const token = `wst_${randomBytes(32).toString('base64url')}`;
  const { accountId, userId, sessionId, mintedByKeyId, keyId, scopes } = holder;
  const kept = { accountId, userId, sessionId, mintedByKeyId, keyId, scopes } satisfies TokenHolder;
  try {
    await redis.set(keyOf(token), JSON.stringify(kept), { expiration: { type: 'EX', value: websocketTokenSeconds } });
    return token;
  } catch (cause) {
    throw new AppError('unavailable', 'Websocket tokens are temporarily unavailable. Retry later.', { cause });
  }
}

/**
 * Returns the owner of a token, or null if the token has expired or never existed. A token opens any number of
 * connections until it expires.
 */
export async function readWebsocketToken(redis: Redis, token: string): Promise<TokenHolder | null> {
  const kept = await redis.get(keyOf(token));
  if (kept === null) return null;
  const { scopes, mintedByKeyId, ...holder } = JSON.parse(kept) as KeptHolder;
  // An older process may have stored no scopes; events that need a scope are then not sent. Such a process also used
  // one key for both purposes.
  const minter = mintedByKeyId === undefined && holder.sessionId === null ? holder.keyId : mintedByKeyId;
  return { ...holder, mintedByKeyId: minter ?? null, scopes: scopes ?? [] };
}

/** Returns the URL at which clients open the websocket. */
export const websocketUrl = (config: Pick<Config, 'WS_URL' | 'PUBLIC_BASE_URL'>): string =>
  config.WS_URL ?? `${config.PUBLIC_BASE_URL.replace(/^http/, 'ws')}/ws`;
