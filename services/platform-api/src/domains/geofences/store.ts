import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Geofence } from './schema.ts';

export const geofencesIn = (records: RecordStore): AccountRepository<Geofence> =>
  new AccountRepository<Geofence>(records, 'geofences');
