import { shownRecord } from '../../schemas.ts';
import type { ChatMessage, ChatMessageShown } from './schema.ts';

export const shownMessage = (message: ChatMessage): ChatMessageShown => ({
  ...shownRecord(message),
  channel: message.channel,
  provider: message.provider,
  provider_message_id: message.providerMessageId,
  direction: message.direction,
  from: message.from,
  to: message.to,
  text: message.text,
  status: message.status,
  user_id: message.userId,
  vehicle_id: message.vehicleId,
  received_at: message.receivedAt.toISOString(),
});
