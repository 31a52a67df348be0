import type { Deps } from '../../platform/deps.ts';
import type { Notification } from './schema.ts';
import { findAfter, findSince, type VisibleNotifications } from './store.ts';

/** What was missed is told for so long (docs/reference/websocket.md). */
const resumeMs = 24 * 3_600_000;
/** Records that are looked at, of which not all may be wanted. */
const maxRead = 5_000;

/** What somebody has missed. */
export interface Missed {
  /** In the order in which it came on record. */
  readonly notifications: readonly Notification[];
  /** False where there is more than `limit`: the older ones are left out. */
  readonly isComplete: boolean;
}

/** The notifications of the last 24 hours after one that is known, the newest `limit` of those that are wanted. */
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

/** What has come on record for an account since a moment, in its order: for who could not hear of it. */
export const notificationsSince = async (
  { records }: Pick<Deps, 'records'>,
  accountId: number,
  sinceMs: number,
): Promise<Notification[]> => (await findSince(records, { accountId }, new Date(sinceMs), maxRead)).toReversed();
