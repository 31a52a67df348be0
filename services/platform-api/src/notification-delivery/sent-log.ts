import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/**
 * A delivered message, so that a redelivery does not send it again; `_id` is
 * `<notification>:<user>:<channel>:<target>`.
 */
interface Settled {
  readonly _id: string;
  readonly result: string;
  readonly at: Date;
}

/** Daily counter; `_id` is `<what>:<account>:<day>`. */
interface Count {
  readonly _id: string;
  readonly count: number;
  readonly at: Date;
}

const settledIn = (database: Database): Collection<Settled> => database.collection<Settled>('notification_sends');
const countsIn = (database: Database): Collection<Count> => database.collection<Count>('notification_send_counts');

/** Longer than the retention of the stream NOTIFICATIONS. */
const keepMs = 8 * 24 * 3_600_000;

export const isSettled = async (database: Database, id: string): Promise<boolean> =>
  (await settledIn(database).findOne({ _id: id })) !== null;

export async function settle(database: Database, id: string, result: string): Promise<void> {
  try {
    await settledIn(database).insertOne({ _id: id, result, at: new Date() });
  } catch (error) {
    // The first result remains.
    if (!isDuplicateKey(error)) throw error;
  }
}

/** Counts one more of an account's messages of a day (UTC), and returns the count. */
export async function countToday(database: Database, what: string, accountId: number, now: Date): Promise<number> {
  const _id = `${what}:${accountId}:${now.toISOString().slice(0, 10)}`;
  for (;;) {
    try {
      const update = { $inc: { count: 1 }, $set: { at: now } };
      const options = { upsert: true, returnDocument: 'after' } as const;
      const after = await countsIn(database).findOneAndUpdate({ _id }, update, options);
      if (after !== null) return after.count;
    } catch (error) {
      // Two replicas may count the first one of a day at the same time.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

/** Decrements the count for a message that was not sent. */
export async function uncountToday(database: Database, what: string, accountId: number, now: Date): Promise<void> {
  const _id = `${what}:${accountId}:${now.toISOString().slice(0, 10)}`;
  await countsIn(database).updateOne({ _id }, { $inc: { count: -1 } });
}

export async function sweepSends(database: Database, nowMs = Date.now()): Promise<void> {
  const before = { at: { $lt: new Date(nowMs - keepMs) } };
  await settledIn(database).deleteMany(before);
  await countsIn(database).deleteMany(before);
}
