import type { RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';

/** Returns the first user with the role dealer of each account. Accounts without one are customer accounts. */
export async function dealersOf(records: RecordStore, accountIds: readonly number[]): Promise<Map<number, User>> {
  const found = await records
    .collection<User>('users')
    .find({ accountId: { $in: [...accountIds] }, role: 'dealer' })
    .sort({ _id: -1 })
    .toArray();
  return new Map((found as unknown as User[]).map((user) => [user.accountId, user]));
}
