import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Session } from './schema.ts';

/** Validity of a refresh token in seconds (services/platform-api/openapi.json: `refresh_expires_in`). */
export const refreshSeconds = 2_592_000;

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const newPart = (): string => randomBytes(24).toString('base64url');

/** The two secret parts of a refresh token. */
export interface RefreshParts {
  readonly family: string;
  readonly current: string;
}

export const newRefreshParts = (family = newPart()): RefreshParts => ({ family, current: newPart() });

export const hashesOf = ({ family, current }: RefreshParts) => ({
  familySha256: sha256(family),
  currentSha256: sha256(current),
});

export const writeRefreshToken = (sessionId: number, { family, current }: RefreshParts): string =>
  `rt_${sessionId}.${family}.${current}`;

/** Parses a refresh token; returns null for an invalid one. */
export function readRefreshToken(token: string): ({ sessionId: number } & RefreshParts) | null {
  const match = /^rt_([1-9]\d{0,14})\.([\w-]{32})\.([\w-]{32})$/.exec(token);
  if (match === null) return null;
  const [, id, family = '', current = ''] = match;
  return { sessionId: Number(id), family, current };
}

const isSame = (one: string, other: string): boolean => timingSafeEqual(Buffer.from(one), Buffer.from(other));

/**
 * Classifies a refresh token. `valid`: not spent yet; `reused`: of this session, but spent; `unknown`: not of this
 * session.
 */
export function validateRefreshToken(session: Session, parts: RefreshParts): 'valid' | 'reused' | 'unknown' {
  const { familySha256, currentSha256 } = hashesOf(parts);
  if (!isSame(session.familySha256, familySha256)) return 'unknown';
  return isSame(session.currentSha256, currentSha256) ? 'valid' : 'reused';
}

/**
 * Returns the encrypted next token if this token was the last one spent, within the time in which a browser may present
 * it again. Returns null otherwise.
 */
export function findRepeatable({ spent }: Session, parts: RefreshParts, now: Date): string | null {
  if (spent === undefined || spent.until <= now) return null;
  return isSame(spent.sha256, hashesOf(parts).currentSha256) ? spent.nextToken : null;
}

export const isOpen = (session: Session, now: Date): boolean => session.revokedAt === null && session.expiresAt > now;
