import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { ChatMessage } from './schema.ts';

export const messagesIn = (records: Records): AccountRecords<ChatMessage> =>
  new AccountRecords<ChatMessage>(records, 'chat_messages', { unique: { messageKey: 'account' } });

/** The message with a key in whatever account, or null: it went out there. */
export const findSent = (records: Records, messageKey: string): Promise<ChatMessage | null> =>
  records.collection<ChatMessage>('chat_messages').findOne({ messageKey } as object);

/** The message with a key in an account, or null. */
export const findMessage = (records: Records, accountId: number, messageKey: string): Promise<ChatMessage | null> =>
  records.findByUnique<ChatMessage>('chat_messages', 'messageKey', `${accountId}:${messageKey}`);
