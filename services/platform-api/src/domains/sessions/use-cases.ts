import { accessChanged, publish } from '@fleet/bus';
import { dayMs, type Page, type Pagination, type Sort } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import {
  findRepeatable,
  hashesOf,
  isOpen,
  newRefreshParts,
  type RefreshParts,
  readRefreshToken,
  refreshSeconds,
  validateRefreshToken,
  writeRefreshToken,
} from './rules.ts';
import type { Session } from './schema.ts';
import { findSessionById, markUsed, removeSessionsBefore, rotateRefreshToken, sessionCollection } from './store.ts';

/** Origin of a log-in. */
interface Origin {
  readonly ip: string;
  readonly userAgent: string | null;
}

/** Minimum interval between two writes of the last use. */
const usedEveryMs = 60_000;

/** Opens a session and returns its refresh token, which is not returned again. */
export async function openSession(
  records: RecordStore,
  user: { accountId: number; _id: number },
  origin: Origin,
  now = new Date(),
): Promise<{ session: Session; refreshToken: string }> {
  const parts = newRefreshParts();
  const session = await sessionCollection(records).insert(user, {
    userId: user._id,
    ...origin,
    lastUsedAt: now,
    expiresAt: new Date(now.getTime() + refreshSeconds * 1000),
    revokedAt: null,
    ...hashesOf(parts),
  });
  return { session, refreshToken: writeRefreshToken(session._id, parts) };
}

/** Returns the session of an access token if it is open. Records its use, to the minute. */
export async function touchSession(
  records: RecordStore,
  id: number,
  userId: number,
  now = new Date(),
): Promise<Session | null> {
  const session = await findSessionById(records, id);
  if (session === null || session.userId !== userId || !isOpen(session, now)) return null;
  if (now.getTime() - session.lastUsedAt.getTime() >= usedEveryMs) await markUsed(records, id, now);
  return session;
}

/** Result of a refresh. */
type Refreshed<R> =
  | { readonly kind: 'refreshed'; readonly refreshToken: string; readonly result: R }
  | { readonly kind: 'reused'; readonly session: Session }
  | { readonly kind: 'expired' | 'unknown' };

/** A request to refresh a session. */
interface RefreshRequest {
  readonly refreshToken: string;
  readonly ip: string;
  /** Whether the spent token can be exchanged again for a short time, because tabs of a browser share a cookie. */
  readonly isRepeatable: boolean;
}

/** Seconds for which the last spent token of a cookie returns the same next token. */
const repeatableSeconds = 30;
const nextTokenPurpose = 'next refresh token';

/**
 * Exchanges a refresh token for the next one. A token that was spent before has been copied, and ends the session. If
 * `prepare` throws, the token is not spent, and the client can retry with it.
 */
export async function refreshSession<R>(
  deps: Pick<Deps, 'records' | 'bus' | 'encryption'>,
  { refreshToken, ip, isRepeatable }: RefreshRequest,
  prepare: (session: Session) => Promise<R>,
  now = new Date(),
): Promise<Refreshed<R>> {
  const { records, encryption } = deps;
  const parts = readRefreshToken(refreshToken);
  const session = parts === null ? null : await findSessionById(records, parts.sessionId);
  if (parts === null || session === null) return { kind: 'unknown' };
  const verdict = validateRefreshToken(session, parts);
  if (verdict === 'unknown') return { kind: 'unknown' };
  if (verdict === 'valid' && !isOpen(session, now)) return { kind: 'expired' };
  if (verdict === 'valid') {
    const result = await prepare(session);
    const next = newRefreshParts(parts.family);
    const nextToken = writeRefreshToken(session._id, next);
    const { currentSha256 } = hashesOf(next);
    const expiresAt = new Date(now.getTime() + refreshSeconds * 1000);
    const until = new Date(now.getTime() + repeatableSeconds * 1000);
    const spent = { sha256: session.currentSha256, nextToken: encryption.seal(nextToken, nextTokenPurpose), until };
    const replaced = { currentSha256, expiresAt, lastUsedAt: now, ip, ...(isRepeatable ? { spent } : {}) };
    if (await rotateRefreshToken(records, session._id, session.currentSha256, replaced))
      return { kind: 'refreshed', refreshToken: nextToken, result };
  }
  const repeated = isRepeatable ? await repeatRefresh(deps, session._id, parts, now) : null;
  if (repeated !== null)
    return { kind: 'refreshed', refreshToken: repeated.nextToken, result: await prepare(repeated.session) };
  await revokeSession(deps, session, session._id, now);
  return { kind: 'reused', session };
}

/** Returns the session of a refresh token, also of one that was spent; null if the token belongs to no session. */
export async function findSessionOfToken(records: RecordStore, refreshToken: string): Promise<Session | null> {
  const parts = readRefreshToken(refreshToken);
  const session = parts === null ? null : await findSessionById(records, parts.sessionId);
  return parts === null || session === null || validateRefreshToken(session, parts) === 'unknown' ? null : session;
}

/** Returns the next token again if the token was spent moments ago; null otherwise. */
async function repeatRefresh(
  { records, encryption }: Pick<Deps, 'records' | 'encryption'>,
  id: number,
  parts: RefreshParts,
  now: Date,
): Promise<{ nextToken: string; session: Session } | null> {
  // Read again: a concurrent request may have spent the token since.
  const session = await findSessionById(records, id);
  if (session === null || !isOpen(session, now)) return null;
  const sealed = findRepeatable(session, parts, now);
  const nextToken = sealed === null ? null : encryption.tryOpen(sealed, nextTokenPurpose);
  return nextToken === null ? null : { nextToken, session };
}

/** Revokes a session of an account and its access tokens; returns null if there is no such open session. */
export async function revokeSession(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: Scope & { readonly userId: number },
  id: number,
  now = new Date(),
  expectedVersion?: number,
): Promise<Session | null> {
  const session = await sessionCollection(records).find(scope, id);
  if (session === null || session.userId !== scope.userId || !isOpen(session, now)) return null;
  await sessionCollection(records).update(scope, id, { revokedAt: now }, expectedVersion);
  publish(bus, accessChanged, { sessionId: id });
  return session;
}

/** Revokes all sessions of a user except one. */
export async function revokeSessionsOf(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  user: { readonly accountId: number; readonly _id: number },
  exceptId: number | null = null,
  now = new Date(),
): Promise<void> {
  const open = { userId: user._id, revokedAt: null, ...(exceptId === null ? {} : { _id: { $ne: exceptId } }) };
  await sessionCollection(records).updateMany(user, open, { $set: { revokedAt: now } });
  publishAccessChanged({ bus }, { userId: user._id });
}

/** Revokes all sessions of a deleted account. */
export async function revokeSessionsOfAccount(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: Scope,
  now = new Date(),
): Promise<void> {
  await sessionCollection(records).updateMany(scope, { revokedAt: null }, { $set: { revokedAt: now } });
  publishAccessChanged({ bus }, { accountId: scope.accountId });
}

/** Publishes that the access of a user or an account changed, so that every replica reads it again. */
export const publishAccessChanged = (
  { bus }: Pick<Deps, 'bus'>,
  whose: { readonly userId: number } | { readonly accountId: number },
): void => publish(bus, accessChanged, whose);

/** Returns a page of the open sessions of a user. */
export const listSessions = (
  records: RecordStore,
  scope: Scope & { readonly userId: number },
  part: { readonly sorting: Sort; readonly paging: Pagination },
  now = new Date(),
): Promise<Page<Session>> =>
  sessionCollection(records).list(scope, {
    where: { userId: scope.userId, revokedAt: null, expiresAt: { $gt: now } },
    ...part,
  });

/** Removes sessions that ended more than a day ago. */
export const sweepSessions = (records: RecordStore, now = new Date()): Promise<number> =>
  removeSessionsBefore(records, new Date(now.getTime() - dayMs));
