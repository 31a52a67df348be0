import { type AccountRecord, AccountRecords, type Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';

/** Those of the ids that are geofences of the account. */
export async function ownGeofenceIds(
  { records }: { readonly records: Records },
  scope: Scope,
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return [];
  const geofences = new AccountRecords<AccountRecord>(records, 'geofences');
  return (await geofences.parts(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);
}
