import { dayMs } from '@fleet/service-kit';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/**
 * A delivered message, so that a redelivery does not send it again; `_id` is
 * `<notification>:<user>:<channel>:<target>`.
 */
interface FinishedMessage {
  readonly _id: string;
  readonly result: string;
  readonly at: Date;
}

/** Daily counter; `_id` is `<what>:<account>:<day>`. */
interface DailyCount {
  readonly _id: string;
  readonly count: number;
  readonly at: Date;
}

const finishedMessages = (database: Database): Collection<FinishedMessage> =>
  database.collection<FinishedMessage>('notification_sends');
const dailyCounts = (database: Database): Collection<DailyCount> =>
  database.collection<DailyCount>('notification_send_counts');

/** Longer than the retention of the stream NOTIFICATIONS. */
const retentionMs = 8 * dayMs;

export const isFinished = async (database: Database, id: string): Promise<boolean> =>
  (await finishedMessages(database).findOne({ _id: id })) !== null;

export async function markFinished(database: Database, id: string, result: string): Promise<void> {
  try {
    await finishedMessages(database).insertOne({ _id: id, result, at: new Date() });
  } catch (error) {
    // The first result remains.
    if (!isDuplicateKey(error)) throw error;
  }
}

/** Counts one more of an account's messages of a day (UTC), and returns the count. */
export async function incrementDailyCount(
  database: Database,
  what: string,
  accountId: number,
  now: Date,
): Promise<number> {
  const _id = `${what}:${accountId}:${now.toISOString().slice(0, 10)}`;
  for (;;) {
    try {
      const update = { $inc: { count: 1 }, $set: { at: now } };
      const options = { upsert: true, returnDocument: 'after' } as const;
      const after = await dailyCounts(database).findOneAndUpdate({ _id }, update, options);
      if (after !== null) return after.count;
    } catch (error) {
      // Two replicas may count the first one of a day at the same time.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

/** Decrements the count for a message that was not sent. */
export async function decrementDailyCount(
  database: Database,
  what: string,
  accountId: number,
  now: Date,
): Promise<void> {
  const _id = `${what}:${accountId}:${now.toISOString().slice(0, 10)}`;
  await dailyCounts(database).updateOne({ _id }, { $inc: { count: -1 } });
}

export async function purgeDeliveryLog(database: Database, nowMs = Date.now()): Promise<void> {
  const before = { at: { $lt: new Date(nowMs - retentionMs) } };
  await finishedMessages(database).deleteMany(before);
  await dailyCounts(database).deleteMany(before);
}
