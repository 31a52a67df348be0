import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { SupportTicket } from './schema.ts';

export const ticketsIn = (records: Records): AccountRecords<SupportTicket> =>
  new AccountRecords<SupportTicket>(records, 'support_tickets');
