import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { StoredRoute } from './schema.ts';

export const routeCollection = (records: RecordStore): AccountRepository<StoredRoute> =>
  new AccountRepository<StoredRoute>(records, 'routes');
