import { expectedVersion, oneOf, otherVersion, pageEnvelope, pageOf, Reply, readPaging } from '@fleet/service-kit';
import { callerOf } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../deps.ts';
import { vehicleIdParams } from '../../schemas.ts';
import { noSubscription } from '../billing/schema.ts';
import { commandParams, commandShown, createCommandBody, listCommandsQuery } from './schema.ts';
import { shownCommand } from './shown.ts';
import { cancelCommand, createCommand, listCommands, readCommand } from './use-cases.ts';

const common = { tags: ['Command queue'] } as const;
const read = { permission: 'commands', scope: 'read' } as const;
const command = { permission: 'commands', scope: 'command' } as const;
const list = '/vehicles/:vehicleId/commands';
const one = `${list}/:commandId`;

export const commandRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    access: command,
    method: 'post',
    path: list,
    operationId: 'createCommand',
    summary: "Queue a command for a vehicle's terminal, which may be out of coverage or asleep",
    description:
      'One at a time for each terminal, higher priority first, then in order. Types that may be repeated (wakeup, live_stop, resource_list, query_parameters, query_attributes, locate, set_parameters) go out again when nobody has answered, up to 10 times; the others fail as unanswered, so that nothing is done twice. Owners and admins alone: control 1, 2 and 5, raw, and set_parameters of server addresses.',
    isIdempotent: true,
    params: vehicleIdParams,
    body: createCommandBody,
    response: oneOf(commandShown),
    otherSuccesses: { 202: 'Queued; `Location` is the path of the command.' },
    errors: {
      402: noSubscription,
      409: 'The vehicle has no terminal, or too many commands wait for it.',
      422: 'The Idempotency-Key was used with another body.',
    },
    handle: async ({ params, body, context }) => {
      const data = shownCommand(await createCommand(deps, callerOf(context), params.vehicleId, body, context));
      return new Reply(202, { data }, { Location: `/api/vehicles/${data.vehicle_id}/commands/${data.command_id}` });
    },
  }),
  platformRoute({
    ...common,
    access: read,
    method: 'get',
    path: list,
    operationId: 'listCommands',
    summary: 'Commands of a vehicle, kept for 90 days',
    params: vehicleIdParams,
    query: listCommandsQuery,
    response: pageOf(commandShown),
    handle: async ({ params, query, context }) => {
      const paging = readPaging(query);
      const { items, total } = await listCommands(deps, callerOf(context), params.vehicleId, query, paging);
      return pageEnvelope({ items: items.map(shownCommand), total }, paging);
    },
  }),
  platformRoute({
    ...common,
    access: read,
    method: 'get',
    path: one,
    operationId: 'getCommand',
    summary: 'One command',
    params: commandParams,
    response: oneOf(commandShown),
    handle: async ({ params, context }) => ({
      data: shownCommand(await readCommand(deps, callerOf(context), params.vehicleId, params.commandId)),
    }),
  }),
  platformRoute({
    ...common,
    access: command,
    method: 'delete',
    path: one,
    operationId: 'cancelCommand',
    summary: 'Take a command back that has not been sent',
    params: commandParams,
    response: oneOf(commandShown),
    errors: { 409: 'The command is being sent, was sent, or is done with.', ...otherVersion },
    handle: async ({ params: { vehicleId, commandId }, context }) => {
      const version = expectedVersion(context);
      return { data: shownCommand(await cancelCommand(deps, callerOf(context), vehicleId, commandId, version)) };
    },
  }),
];
