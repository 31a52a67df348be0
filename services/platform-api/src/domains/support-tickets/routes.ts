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
    summary: 'List support tickets',
    description: 'Managers and above see the tickets of the account, others their own.',
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
    summary: 'Create a support ticket',
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
    summary: 'Get a support ticket',
    description: 'Includes the replies.',
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
    summary: 'Update a support ticket',
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
    description: 'Reopens a resolved ticket.',
    tags,
    access,
    isIdempotent: true,
    params: idParams,
    body: replyBody,
    response: singleSchema(ticketResponseSchema),
    extraSuccesses: { 201: 'Added; `Location` is the path of the ticket, which contains the replies.' },
    errors: { 409: 'The ticket is closed, or its reply limit has been reached.' },
    handle: async ({ params, body, context }) => {
      const ticket = toTicketResponse(await replyToTicket(deps, getCaller(context), params.id, body.message));
      return new Reply(201, { data: ticket }, { Location: `/api/support-tickets/${ticket.id}` });
    },
  }),
];
