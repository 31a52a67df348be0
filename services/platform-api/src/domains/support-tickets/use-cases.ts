import { AppError, type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Static } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined } from '../../platform/fields.ts';
import { type Filter, substringFilter } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import type { createTicketBody, ListTicketsQuery, SupportTicket, updateTicketBody } from './schema.ts';
import { ticketCollection } from './store.ts';

type Parts = Pick<Deps, 'records' | 'log'>;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', updated_at: 'updatedAt' };
const maxReplies = 500;
/** Size limit of all replies together, because a page of tickets contains them all. */
const repliesLimitBytes = 256 * 1024;

/**
 * Returns the filter of visible tickets: all of the account for roles that may change the fleet, own ones for others.
 */
const visibilityFilter = (caller: Caller): Filter =>
  isPermitted(caller.role, 'fleet') ? {} : { createdBy: caller.userId };

/** Returns a page of the tickets that the caller may see. */
export function listTickets(
  { records }: Parts,
  caller: Caller,
  query: ListTicketsQuery,
  paging: Pagination,
): Promise<Page<SupportTicket>> {
  const { field, direction } = parseSort(query.sort);
  const { status, priority, vehicle_id: vehicleId } = query;
  return ticketCollection(records).list(caller, {
    where: {
      $and: [
        visibilityFilter(caller),
        substringFilter(query.query, ['subject', 'message']),
        omitUndefined({ status, priority, vehicleId }),
      ],
    },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
}

/** Returns a ticket that the caller may see; throws 404 otherwise. */
export async function readTicket({ records }: Parts, caller: Caller, id: number): Promise<SupportTicket> {
  const ticket = await ticketCollection(records).findOne(caller, { $and: [{ _id: id }, visibilityFilter(caller)] });
  if (ticket === null) throw notFound(id);
  return ticket;
}

export async function createTicket(
  deps: Parts,
  caller: Caller,
  { subject, message, vehicle_id: vehicleId = null, priority = 'normal' }: Static<typeof createTicketBody>,
): Promise<SupportTicket> {
  if (vehicleId !== null) await visibleVehicle(deps, caller, vehicleId);
  const fields = { subject, message, vehicleId, priority, status: 'open' as const, createdBy: caller.userId };
  const ticket = await ticketCollection(deps.records).insert(caller, { ...fields, replies: [] });
  await audit(deps, caller, 'support_tickets.create', { type: 'support_tickets', id: ticket._id });
  return ticket;
}

export async function updateTicket(
  deps: Parts,
  caller: Caller,
  id: number,
  { vehicle_id: vehicleId, ...body }: Static<typeof updateTicketBody>,
  expectedVersion: number | undefined,
): Promise<SupportTicket> {
  await readTicket(deps, caller, id);
  if (typeof vehicleId === 'number') await visibleVehicle(deps, caller, vehicleId);
  const change = omitUndefined({ ...body, vehicleId });
  const ticket = await ticketCollection(deps.records).update(caller, id, change, expectedVersion);
  if (ticket === null) throw notFound(id);
  await audit(deps, caller, 'support_tickets.update', { type: 'support_tickets', id }, { fields: Object.keys(change) });
  return ticket;
}

/** Adds a reply. It reopens a resolved ticket; a closed one accepts none. */
export async function replyToTicket(deps: Parts, caller: Caller, id: number, message: string): Promise<SupportTicket> {
  const { status, replies } = await readTicket(deps, caller, id);
  if (status === 'closed') throw new AppError('state_conflict', `The ticket ${id} is closed. Create a new one.`);
  if (replies.length >= maxReplies)
    throw new AppError('limit_reached', `Reply limit reached: a ticket may have ${maxReplies} replies.`);
  const bytes = [...replies, { message }].reduce((sum, each) => sum + Buffer.byteLength(each.message), 0);
  if (bytes > repliesLimitBytes)
    throw new AppError(
      'limit_reached',
      `Reply limit reached: the replies of a ticket may have ${repliesLimitBytes} bytes.`,
    );
  // Atomic, so that concurrent replies are all stored.
  await ticketCollection(deps.records).updateMany(
    caller,
    { _id: id },
    {
      $addToSet: { replies: { userId: caller.userId, message, createdAt: new Date() } },
      ...(status === 'resolved' ? { $set: { status: 'open' } } : {}),
    },
  );
  return readTicket(deps, caller, id);
}

/** Deletes a ticket; returns the deleted ticket. */
export async function deleteTicket(
  deps: Parts,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<SupportTicket> {
  await readTicket(deps, caller, id);
  const ticket = await ticketCollection(deps.records).remove(caller, id, { expectedVersion });
  if (ticket === null) throw notFound(id);
  await audit(deps, caller, 'support_tickets.delete', { type: 'support_tickets', id });
  return ticket;
}

const notFound = (id: number): AppError => new AppError('not_found', `There is no support ticket ${id}.`);
