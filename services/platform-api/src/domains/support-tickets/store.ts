import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { SupportTicket } from './schema.ts';

export const ticketCollection = (records: RecordStore): AccountRepository<SupportTicket> =>
  new AccountRepository<SupportTicket>(records, 'support_tickets');
