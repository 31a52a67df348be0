import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { StoredRoute } from './schema.ts';

export const routesIn = (records: Records): AccountRecords<StoredRoute> =>
  new AccountRecords<StoredRoute>(records, 'routes');
