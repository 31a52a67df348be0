import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Geofence } from './schema.ts';

export const geofenceCollection = (records: RecordStore): AccountRepository<Geofence> =>
  new AccountRepository<Geofence>(records, 'geofences');
