import { accessChanged, publish } from '@fleet/bus';
import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import {
  hashesOf,
  isOpen,
  judgeRefresh,
  newRefreshParts,
  readRefreshToken,
  refreshSeconds,
  writeRefreshToken,
} from './rules.ts';
import type { Session } from './schema.ts';
import { findSessionById, markUsed, removeSessionsBefore, replaceRefresh, sessionsIn } from './store.ts';

/** Where a log-in comes from. */
export interface Origin {
  readonly ip: string;
  readonly userAgent: string | null;
}

/** A use within this time of the last one is not written. */
const usedEveryMs = 60_000;

/** Opens a session; the refresh token is seen here alone. */
export async function openSession(
  records: RecordStore,
  user: { accountId: number; _id: number },
  origin: Origin,
  now = new Date(),
): Promise<{ session: Session; refreshToken: string }> {
  const parts = newRefreshParts();
  const session = await sessionsIn(records).insert(user, {
    userId: user._id,
    ...origin,
    lastUsedAt: now,
    expiresAt: new Date(now.getTime() + refreshSeconds * 1000),
    revokedAt: null,
    ...hashesOf(parts),
  });
  return { session, refreshToken: writeRefreshToken(session._id, parts) };
}

/** The session of an access token while it is open; notes its use, to the minute. */
export async function useSession(
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

/** How a refresh ended. */
export type Refreshed<R> =
  | { readonly kind: 'refreshed'; readonly refreshToken: string; readonly result: R }
  | { readonly kind: 'reused'; readonly session: Session }
  | { readonly kind: 'expired' | 'unknown' };

/**
 * Spends a refresh token for the next one. One that was spent before ends the session: it is in two hands. What `prepare` refuses, or fails at, has spent nothing: who is
 * refused now may come again with the same token.
 */
export async function refreshSession<R>(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  refreshToken: string,
  ip: string,
  prepare: (session: Session) => Promise<R>,
  now = new Date(),
): Promise<Refreshed<R>> {
  const parts = readRefreshToken(refreshToken);
  const session = parts === null ? null : await findSessionById(records, parts.sessionId);
  if (parts === null || session === null) return { kind: 'unknown' };
  const verdict = judgeRefresh(session, parts);
  if (verdict === 'unknown') return { kind: 'unknown' };
  if (verdict === 'valid' && !isOpen(session, now)) return { kind: 'expired' };
  if (verdict === 'valid') {
    const result = await prepare(session);
    const next = newRefreshParts(parts.family);
    const { currentSha256 } = hashesOf(next);
    const expiresAt = new Date(now.getTime() + refreshSeconds * 1000);
    const replaced = { currentSha256, expiresAt, lastUsedAt: now, ip };
    if (await replaceRefresh(records, session._id, session.currentSha256, replaced))
      return { kind: 'refreshed', refreshToken: writeRefreshToken(session._id, next), result };
  }
  await revokeSession({ records, bus }, session, session._id, now);
  return { kind: 'reused', session };
}

/** Ends a session of an account, its access tokens with it; null where there is none that is open. */
export async function revokeSession(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: Scope & { readonly userId: number },
  id: number,
  now = new Date(),
  expectedVersion?: number,
): Promise<Session | null> {
  const session = await sessionsIn(records).find(scope, id);
  if (session === null || session.userId !== scope.userId || !isOpen(session, now)) return null;
  await sessionsIn(records).update(scope, id, { revokedAt: now }, expectedVersion);
  publish(bus, accessChanged, { sessionId: id });
  return session;
}

/** Ends all sessions of a user but one. */
export async function revokeSessionsOf(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  user: { readonly accountId: number; readonly _id: number },
  exceptId: number | null = null,
  now = new Date(),
): Promise<void> {
  const open = { userId: user._id, revokedAt: null, ...(exceptId === null ? {} : { _id: { $ne: exceptId } }) };
  await sessionsIn(records).updateMany(user, open, { $set: { revokedAt: now } });
  tellAccessChanged({ bus }, { userId: user._id });
}

/** Ends all sessions of an account that is deleted. */
export async function revokeSessionsOfAccount(
  { records, bus }: Pick<Deps, 'records' | 'bus'>,
  scope: Scope,
  now = new Date(),
): Promise<void> {
  await sessionsIn(records).updateMany(scope, { revokedAt: null }, { $set: { revokedAt: now } });
  tellAccessChanged({ bus }, { accountId: scope.accountId });
}

/** Makes every replica look again at a user or an account. */
export const tellAccessChanged = (
  { bus }: Pick<Deps, 'bus'>,
  whose: { readonly userId: number } | { readonly accountId: number },
): void => publish(bus, accessChanged, whose);

/** The open sessions of a user. */
export const listSessions = (
  records: RecordStore,
  scope: Scope & { readonly userId: number },
  part: { readonly sorting: Sort; readonly paging: Pagination },
  now = new Date(),
): Promise<Page<Session>> =>
  sessionsIn(records).list(scope, {
    where: { userId: scope.userId, revokedAt: null, expiresAt: { $gt: now } },
    ...part,
  });

/** Removes what ended more than a day ago. */
export const sweepSessions = (records: RecordStore, now = new Date()): Promise<number> =>
  removeSessionsBefore(records, new Date(now.getTime() - 24 * 3600 * 1000));
