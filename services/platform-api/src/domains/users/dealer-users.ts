import type { RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';

/** The first dealer among the users of each of some accounts; accounts without one are those of customers. */
export async function dealersOf(records: RecordStore, accountIds: readonly number[]): Promise<Map<number, User>> {
  const found = await records
    .collection<User>('users')
    .find({ accountId: { $in: [...accountIds] }, role: 'dealer' })
    .sort({ _id: -1 })
    .toArray();
  return new Map((found as unknown as User[]).map((user) => [user.accountId, user]));
}
