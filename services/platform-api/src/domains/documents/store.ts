import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { StoredDocument } from './schema.ts';

export const documentsIn = (records: Records): AccountRecords<StoredDocument> =>
  new AccountRecords<StoredDocument>(records, 'documents');
