import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import { toTicketResponse } from './responses.ts';
import { createTicketBody, listTicketsQuery, replyBody, ticketResponseSchema, updateTicketBody } from './schema.ts';
import { createTicket, deleteTicket, listTickets, readTicket, replyToTicket, updateTicket } from './use-cases.ts';

const tags = ['Support tickets'];
const access = { permission: 'self' } as const;
const noVehicle = 'The vehicle does not exist or is not visible.';

export const supportTicketRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/support-tickets',
    operationId: 'listSupportTickets',
    summary: 'Support tickets: of the account for managers and above, else the own ones',
    tags,
    access,
    query: listTicketsQuery,
    response: pageSchema(ticketResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listTickets(deps, getCaller(context), query, paging);
      return pageResponse({ items: items.map(toTicketResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/support-tickets',
    operationId: 'createSupportTicket',
    summary: 'Open a support ticket',
    tags,
    access,
    isIdempotent: true,
    body: createTicketBody,
    response: singleSchema(ticketResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the ticket.' },
    errors: { 404: noVehicle },
    handle: async ({ body, context }) => {
      const ticket = toTicketResponse(await createTicket(deps, getCaller(context), body));
      return new Reply(201, { data: ticket }, { Location: `/api/support-tickets/${ticket.id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/support-tickets/:id',
    operationId: 'getSupportTicket',
    summary: 'One support ticket with its replies',
    tags,
    access,
    params: idParams,
    response: singleSchema(ticketResponseSchema),
    handle: async ({ params, context }) => ({
      data: toTicketResponse(await readTicket(deps, getCaller(context), params.id)),
    }),
  }),
  platformRoute({
    method: 'put',
    path: '/support-tickets/:id',
    operationId: 'updateSupportTicket',
    summary: 'Change a support ticket or its status',
    tags,
    access,
    params: idParams,
    body: updateTicketBody,
    response: singleSchema(ticketResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return { data: toTicketResponse(await updateTicket(deps, getCaller(context), params.id, body, version)) };
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/support-tickets/:id',
    operationId: 'deleteSupportTicket',
    summary: 'Delete a support ticket',
    tags,
    access,
    params: idParams,
    response: singleSchema(ticketResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => ({
      data: toTicketResponse(await deleteTicket(deps, getCaller(context), params.id, parseIfMatch(context))),
    }),
  }),
  platformRoute({
    method: 'post',
    path: '/support-tickets/:id/replies',
    operationId: 'replyToSupportTicket',
    summary: 'Reply to a support ticket',
    description: 'A reply to a resolved ticket opens it again.',
    tags,
    access,
    isIdempotent: true,
    params: idParams,
    body: replyBody,
    response: singleSchema(ticketResponseSchema),
    extraSuccesses: { 201: 'Added; `Location` is the path of the ticket, which has the replies.' },
    errors: { 409: 'The ticket is closed, or has as many replies as it may have.' },
    handle: async ({ params, body, context }) => {
      const ticket = toTicketResponse(await replyToTicket(deps, getCaller(context), params.id, body.message));
      return new Reply(201, { data: ticket }, { Location: `/api/support-tickets/${ticket.id}` });
    },
  }),
];
