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
import { vehicleIdParams } from '../../platform/schemas.ts';
import { noSubscription } from '../billing/schema.ts';
import { commandParams, commandResponse, createCommandBody, listCommandsQuery } from './schema.ts';
import { cancelCommand, createCommand, listCommands, readCommand } from './use-cases.ts';
import { toNamedCommand, toNamedCommands } from './viewer-responses.ts';

const common = { tags: ['Command queue'] } as const;
const readAccess = { permission: 'commands', scope: 'read' } as const;
const commandErrors = { permission: 'commands', scope: 'command' } as const;
const listPath = '/vehicles/:vehicleId/commands';
const commandPath = `${listPath}/:commandId`;

export const commandRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    ...common,
    access: commandErrors,
    method: 'post',
    path: listPath,
    operationId: 'createCommand',
    summary: 'Queue a command',
    description:
      'Queues a command for the terminal of a vehicle, which may be out of coverage or asleep. Commands of a terminal are sent one at a time, by priority and then in order. Types that may be repeated (wakeup, live_stop, resource_list, query_parameters, query_attributes, locate, set_parameters) are sent again without a response, up to 10 times. Other types fail as unanswered, so that nothing is executed twice. Only owners and admins may send control 1, 2 and 5, raw, and set_parameters of server addresses.',
    isIdempotent: true,
    params: vehicleIdParams,
    body: createCommandBody,
    response: singleSchema(commandResponse),
    extraSuccesses: { 202: 'Queued; `Location` is the path of the command.' },
    errors: {
      402: noSubscription,
      409: 'The vehicle has no terminal, or too many commands are waiting for it.',
      422: 'The Idempotency-Key was used with another body.',
    },
    handle: async ({ params, body, context }) => {
      const caller = getCaller(context);
      const command = await createCommand(deps, caller, params.vehicleId, body, context);
      const data = await toNamedCommand(deps, caller, command);
      return new Reply(202, { data }, { Location: `/api/vehicles/${data.vehicle_id}/commands/${data.command_id}` });
    },
  }),
  platformRoute({
    ...common,
    access: readAccess,
    method: 'get',
    path: listPath,
    operationId: 'listCommands',
    summary: 'List commands of a vehicle',
    description: 'Commands are stored for 90 days.',
    params: vehicleIdParams,
    query: listCommandsQuery,
    response: pageSchema(commandResponse),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const caller = getCaller(context);
      const { items, total } = await listCommands(deps, caller, params.vehicleId, query, paging);
      return pageResponse({ items: await toNamedCommands(deps, caller, items), total }, paging);
    },
  }),
  platformRoute({
    ...common,
    access: readAccess,
    method: 'get',
    path: commandPath,
    operationId: 'getCommand',
    summary: 'Get a command',
    params: commandParams,
    response: singleSchema(commandResponse),
    handle: async ({ params, context }) => {
      const caller = getCaller(context);
      const command = await readCommand(deps, caller, params.vehicleId, params.commandId);
      return { data: await toNamedCommand(deps, caller, command) };
    },
  }),
  platformRoute({
    ...common,
    access: commandErrors,
    method: 'delete',
    path: commandPath,
    operationId: 'cancelCommand',
    summary: 'Cancel a command',
    description: 'Cancels a command that has not been sent.',
    params: commandParams,
    response: singleSchema(commandResponse),
    errors: { 409: 'The command is being sent, was sent, or is completed.', ...versionMismatchErrors },
    handle: async ({ params: { vehicleId, commandId }, context }) => {
      const caller = getCaller(context);
      const command = await cancelCommand(deps, caller, vehicleId, commandId, parseIfMatch(context));
      return { data: await toNamedCommand(deps, caller, command) };
    },
  }),
];
