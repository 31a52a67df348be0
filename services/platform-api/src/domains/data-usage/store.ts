import { type Collection, type Database, insertIgnoringDuplicates, writeInBulk } from '@fleet/storage';
import type { BudgetNotice, UsageRecord } from './schema.ts';

const usageCollection = (database: Database): Collection<UsageRecord> => database.collection<UsageRecord>('data_usage');

const noticeCollection = (database: Database): Collection<BudgetNotice> =>
  database.collection<BudgetNotice>('data_budget_notices');

/** Adds spans of counters. A span that is added again, or overlaps with others of its session, counts once. */
export const addUsage = (database: Database, records: readonly UsageRecord[]): Promise<void> =>
  writeInBulk(
    usageCollection(database),
    records.map(({ _id, fromBytes, toBytes, ...fields }) => ({
      updateOne: {
        filter: { _id },
        update: { $setOnInsert: fields, $min: { fromBytes }, $max: { toBytes } },
        upsert: true,
      },
    })),
  );

export const listUsage = (database: Database, vehicleId: number, month: string): Promise<UsageRecord[]> =>
  usageCollection(database).find({ vehicleId, month }).toArray();

/** Returns the notice of a vehicle, a month and a percentage; records it first if it does not exist. */
export async function findOrAddNotice(database: Database, notice: BudgetNotice): Promise<BudgetNotice> {
  const notices = noticeCollection(database);
  const found = await notices.findOne({ _id: notice._id });
  if (found !== null) return found;
  const duplicates = await insertIgnoringDuplicates(notices, [notice]);
  return duplicates.length === 0 ? notice : ((await notices.findOne({ _id: notice._id })) ?? notice);
}

/** Marks the notification of a notice as recorded. */
export const markNotified = async (database: Database, { _id }: BudgetNotice): Promise<void> => {
  await noticeCollection(database).updateOne({ _id }, { $set: { isNotified: true } });
};

/** Deletes the usage and the notices of months before one. */
export async function deleteUsageBefore(database: Database, month: string): Promise<void> {
  const filter: object = { month: { $lt: month } };
  await usageCollection(database).deleteMany(filter);
  await noticeCollection(database).deleteMany(filter);
}
