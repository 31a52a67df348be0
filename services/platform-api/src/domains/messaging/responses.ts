import { toRecordResponse } from '../../platform/schemas.ts';
import type { ChatMessage, ChatMessageResponse } from './schema.ts';

export const toChatMessageResponse = (message: ChatMessage): ChatMessageResponse => ({
  ...toRecordResponse(message),
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
