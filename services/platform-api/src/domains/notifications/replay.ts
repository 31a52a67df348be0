import { dayMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Notification } from './schema.ts';
import { findAfter, findSince, type VisibleNotifications } from './store.ts';

/** Age up to which missed notifications are sent (docs/reference/websocket.md). */
const resumeMs = dayMs;
/** Largest number of records that are read, not all of which may be wanted. */
const maxRead = 5_000;

/** Notifications that a client missed. */
interface Missed {
  /** In the order in which they were recorded. */
  readonly notifications: readonly Notification[];
  /** False if there are more than `limit`; the older ones are left out. */
  readonly isComplete: boolean;
}

/** Returns the notifications of the last 24 hours after a known one: the newest `limit` of those that are wanted. */
export async function missedNotifications(
  { records }: Pick<Deps, 'records'>,
  visible: VisibleNotifications,
  sinceId: number,
  options: { readonly limit: number; readonly isWanted: (notification: Notification) => boolean },
  nowMs = Date.now(),
): Promise<Missed> {
  const notBefore = new Date(nowMs - resumeMs);
  const found = await findAfter(records, visible, { id: sinceId, notBefore, limit: maxRead });
  const wanted = found.filter(options.isWanted);
  return {
    notifications: wanted.slice(0, options.limit).toReversed(),
    isComplete: wanted.length <= options.limit && found.length < maxRead,
  };
}

/**
 * Returns the notifications that were recorded for an account since a time, in their order, for clients that could not
 * receive them.
 */
export const notificationsSince = async (
  { records }: Pick<Deps, 'records'>,
  accountId: number,
  sinceMs: number,
): Promise<Notification[]> => (await findSince(records, { accountId }, new Date(sinceMs), maxRead)).toReversed();
