import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Driver } from './schema.ts';

export const driversIn = (records: Records): AccountRecords<Driver> =>
  new AccountRecords<Driver>(records, 'drivers', { unique: { licenseNumber: 'account', cardNumber: 'account' } });
