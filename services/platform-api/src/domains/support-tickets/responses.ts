import { toRecordResponse } from '../../platform/schemas.ts';
import type { SupportTicket, TicketResponse } from './schema.ts';

export const toTicketResponse = (ticket: SupportTicket): TicketResponse => ({
  ...toRecordResponse(ticket),
  subject: ticket.subject,
  message: ticket.message,
  vehicle_id: ticket.vehicleId,
  priority: ticket.priority,
  status: ticket.status,
  created_by: ticket.createdBy,
  replies: ticket.replies.map(({ userId, message, createdAt }) => ({
    user_id: userId,
    message,
    created_at: createdAt.toISOString(),
  })),
});
