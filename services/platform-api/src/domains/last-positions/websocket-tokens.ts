import { createHash, randomBytes } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Config } from '../../assembly/config.ts';

/** How long a token opens connections (docs/reference/websocket.md). */
export const websocketTokenSeconds = 300;

/**
 * Whose a token is: whoever opens a connection with it is this user, with what the API key allowed that it was got with, while that key lasts and the session, or
 * the key that minted the user's token.
 */
export type TokenHolder = Pick<Caller, 'accountId' | 'userId' | 'sessionId' | 'mintedByKeyId' | 'keyId' | 'scopes'>;

type KeptHolder = Omit<TokenHolder, 'scopes' | 'mintedByKeyId'> & Partial<TokenHolder>;

/** The token itself is nowhere: who reads Redis can open nothing. */
const keyOf = (token: string): string => `websocket-token:${createHash('sha256').update(token).digest('base64url')}`;

/** Makes a token; 503 while Redis is away. */
export async function makeWebsocketToken(redis: Redis, holder: TokenHolder): Promise<string> {
  const token = `wst_${randomBytes(32).toString('base64url')}`;
  const { accountId, userId, sessionId, mintedByKeyId, keyId, scopes } = holder;
  const kept = { accountId, userId, sessionId, mintedByKeyId, keyId, scopes } satisfies TokenHolder;
  try {
    await redis.set(keyOf(token), JSON.stringify(kept), { expiration: { type: 'EX', value: websocketTokenSeconds } });
    return token;
  } catch (cause) {
    throw new AppError('unavailable', 'Tokens cannot be kept at the moment.', { cause });
  }
}

/** Whose a token is, or null when it has expired or never was. It opens any number of connections until it expires. */
export async function readWebsocketToken(redis: Redis, token: string): Promise<TokenHolder | null> {
  const kept = await redis.get(keyOf(token));
  if (kept === null) return null;
  const { scopes, mintedByKeyId, ...holder } = JSON.parse(kept) as KeptHolder;
  // A process that is older may have kept no scopes: what needs one is not told then. To it, one key was both.
  const minter = mintedByKeyId === undefined && holder.sessionId === null ? holder.keyId : mintedByKeyId;
  return { ...holder, mintedByKeyId: minter ?? null, scopes: scopes ?? [] };
}

/** Where clients open the websocket. */
export const websocketUrl = (config: Pick<Config, 'WS_URL' | 'PUBLIC_BASE_URL'>): string =>
  config.WS_URL ?? `${config.PUBLIC_BASE_URL.replace(/^http/, 'ws')}/ws`;
