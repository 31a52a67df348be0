import { dayMs } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import type { UserEraser } from './hooks.ts';
import type { User } from './schema.ts';

/** A removed user who is still mentioned in other records. */
interface Erasure {
  /** Id of the user. */
  readonly _id: number;
  readonly accountId: number;
  readonly removedAt: Date;
}

const erasureCollection = (database: Database) => database.collection<Erasure>('erasures');

/**
 * Schedules the erasure of a removed user. The user's record itself, with name, e-mail and phone number, is deleted
 * immediately.
 */
export async function planErasure({ database }: Pick<Deps, 'database'>, { _id, accountId }: User): Promise<void> {
  const fields = { accountId, removedAt: new Date() };
  await erasureCollection(database).updateOne({ _id }, { $setOnInsert: fields }, { upsert: true });
}

/**
 * Erases personal fields of users who were removed long enough ago: numbers and texts of their messages, and their IP
 * addresses.
 */
export async function eraseUsers(
  { database, config }: Pick<Deps, 'database' | 'config'>,
  erasers: readonly UserEraser[],
  now = new Date(),
): Promise<void> {
  const removedAt = { $lte: new Date(now.getTime() - config.ERASURE_DAYS * dayMs) };
  for (const { _id: userId, accountId } of await erasureCollection(database)
    .find({ removedAt })
    .limit(1_000)
    .toArray()) {
    for (const erase of erasers) await erase({ accountId, userId });
    await erasureCollection(database).deleteOne({ _id: userId });
  }
}
