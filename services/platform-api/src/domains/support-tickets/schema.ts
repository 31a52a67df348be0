import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField, searchText, stringEnum, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** States of a ticket (docs/reference/billing.md). */
const ticketStatuses = ['open', 'pending', 'resolved', 'closed'] as const;
const ticketPriorities = ['low', 'normal', 'high', 'urgent'] as const;

interface Reply {
  readonly userId: number;
  readonly message: string;
  readonly createdAt: Date;
}

/** A question or complaint of a user, with the replies to it. */
export interface SupportTicket extends AccountRecord {
  readonly subject: string;
  readonly message: string;
  readonly vehicleId: number | null;
  readonly priority: (typeof ticketPriorities)[number];
  readonly status: (typeof ticketStatuses)[number];
  readonly createdBy: number;
  readonly replies: readonly Reply[];
}

const fields = {
  subject: trimmedText(1, 200),
  message: trimmedText(1, 10_000),
  vehicle_id: Type.Optional(nullableField(recordId)),
  priority: Type.Optional(stringEnum(ticketPriorities, { description: 'Default: normal.' })),
};

export const createTicketBody = Type.Object(fields);
export const updateTicketBody = Type.Object({
  ...fields,
  subject: Type.Optional(fields.subject),
  message: Type.Optional(fields.message),
  status: Type.Optional(stringEnum(ticketStatuses)),
});
export const replyBody = Type.Object({ message: fields.message });

export const listTicketsQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at', 'updated_at']),
  query: searchText('subject or message'),
  status: Type.Optional(stringEnum(ticketStatuses)),
  priority: Type.Optional(stringEnum(ticketPriorities)),
  vehicle_id: Type.Optional(recordId),
});
export type ListTicketsQuery = Static<typeof listTicketsQuery>;

export const ticketResponseSchema = Type.Object(
  {
    ...recordProperties,
    subject: Type.String(),
    message: Type.String(),
    vehicle_id: nullable(recordId),
    priority: stringEnum(ticketPriorities),
    status: stringEnum(ticketStatuses),
    created_by: recordId,
    replies: Type.Array(Type.Object({ user_id: recordId, message: Type.String(), created_at: time })),
  },
  { title: 'SupportTicket' },
);
export type TicketResponse = Static<typeof ticketResponseSchema>;
