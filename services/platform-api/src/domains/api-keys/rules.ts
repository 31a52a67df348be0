import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ApiKey, Scope } from './schema.ts';

/** Default scopes of a new key: all but `ingest`. */
export const defaultScopes: readonly Scope[] = ['read', 'write', 'command', 'video', 'webhook'];

/** Generates a key: `fk_` and 43 base64url characters. 256 random bits make a plain SHA-256 sufficient at rest. */
export const generateKey = (): string => `fk_${randomBytes(32).toString('base64url')}`;

export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Purpose of the encrypted dashboard key of an account. */
export const dashboardKeyPurpose = (accountId: number): string => `dashboard key of account ${accountId}`;

export const isKeyValid = (key: ApiKey, keySha256: string, now: Date): boolean =>
  timingSafeEqual(Buffer.from(key.keySha256, 'hex'), Buffer.from(keySha256, 'hex')) &&
  key.revokedAt === null &&
  (key.expiresAt === null || key.expiresAt > now);
