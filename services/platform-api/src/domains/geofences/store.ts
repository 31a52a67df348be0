import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Geofence } from './schema.ts';

export const geofencesIn = (records: Records): AccountRecords<Geofence> =>
  new AccountRecords<Geofence>(records, 'geofences');
