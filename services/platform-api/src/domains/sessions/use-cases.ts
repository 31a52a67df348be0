import type { Records } from '../../store/records.ts';
import { hashesOf, isOpen, newRefreshParts, refreshSeconds, writeRefreshToken } from './rules.ts';
import type { Session } from './schema.ts';
import { findSessionById, markUsed, sessionsIn } from './store.ts';

/** Where a log-in comes from. */
export interface Origin {
  readonly ip: string;
  readonly userAgent: string | null;
}

/** A use within this time of the last one is not written. */
const usedEveryMs = 60_000;

/** Opens a session; the refresh token is seen here alone. */
export async function openSession(
  records: Records,
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
  records: Records,
  id: number,
  userId: number,
  now = new Date(),
): Promise<Session | null> {
  const session = await findSessionById(records, id);
  if (session === null || session.userId !== userId || !isOpen(session, now)) return null;
  if (now.getTime() - session.lastUsedAt.getTime() >= usedEveryMs) await markUsed(records, id, now);
  return session;
}
