import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { ChatMessage } from './schema.ts';

export const chatMessageCollection = (records: RecordStore): AccountRepository<ChatMessage> =>
  new AccountRepository<ChatMessage>(records, 'chat_messages', { unique: { messageKey: 'account' } });

/** Returns the message with a key from any account, or null. The account is the one that sent it. */
export const findOutbound = (records: RecordStore, messageKey: string): Promise<ChatMessage | null> =>
  records.collection<ChatMessage>('chat_messages').findOne({ messageKey } as object);

/** Returns the message of an account with a key, or null. */
export const findMessage = (records: RecordStore, accountId: number, messageKey: string): Promise<ChatMessage | null> =>
  records.findByUnique<ChatMessage>('chat_messages', 'messageKey', `${accountId}:${messageKey}`);
