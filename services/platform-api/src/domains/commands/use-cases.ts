import { randomBytes } from 'node:crypto';
import { commandQueued, publish } from '@fleet/bus';
import {
  AppError,
  assertVersion,
  dayMs,
  type Page,
  type Pagination,
  parseSort,
  type RequestContext,
} from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined } from '../../platform/fields.ts';
import type { Scope } from '../../store/account-repository.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { publishCommand } from './events.ts';
import { type CommandType, parseParams } from './params.ts';
import { isCritical, maxAttempts } from './rules.ts';
import {
  type Command,
  type CreateCommandBody,
  defaultPriority,
  defaultTtlSeconds,
  type ListCommandsQuery,
} from './schema.ts';
import { CommandQueue, commandCollection } from './store.ts';

type CommandUseCaseDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'limits' | 'log' | 'records'>;

/** Largest number of waiting commands per vehicle. */
const maxWaiting = 200;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', expires_at: 'expiresAt' };

/** Returns a vehicle that the caller may command, and the scope of its commands. */
async function findCommandable(
  deps: CommandUseCaseDeps,
  caller: Caller,
  vehicleId: number,
): Promise<{ vehicle: Vehicle; scope: Scope; isOwn: boolean }> {
  const { vehicle, access } = await visibleVehicle(deps, caller, vehicleId, 'commands');
  return { vehicle, scope: { accountId: vehicle.accountId }, isOwn: access === 'owner' };
}

/** Queues a command for the terminal of a vehicle. */
export async function createCommand(
  deps: CommandUseCaseDeps,
  caller: Caller,
  vehicleId: number,
  body: CreateCommandBody,
  context: RequestContext,
): Promise<Command> {
  const { vehicle, scope, isOwn } = await findCommandable(deps, caller, vehicleId);
  const { type } = body;
  const params = parseParams(type, body.params ?? {});
  if (isCritical(type, params) && !(isOwn && isPermitted(caller.role, 'criticalCommands')))
    throw new AppError('permission_denied', "This command requires an owner or admin of the vehicle's account.");
  await assertSubscriptions(deps, scope, [vehicleId]);
  if (vehicle.imei === null) throw new AppError('state_conflict', `Vehicle ${vehicleId} has no terminal.`);
  if (type === 'capture') await deps.limits.consume('capture', `vehicle:${vehicleId}`, context);
  const { priority, ttl_seconds: ttlSeconds } = body;
  const command = await enqueue(deps, vehicle, { type, params, priority, ttlSeconds, createdBy: caller.userId });
  const detail = { vehicle_id: vehicleId, type, ...(type === 'control' ? { command: params['command'] } : {}) };
  const target = { type: 'commands', id: command.commandId } as const;
  await audit(deps, { ...caller, ...scope }, 'commands.create', target, detail);
  return command;
}

interface CommandInput {
  readonly type: CommandType;
  readonly params: Record<string, unknown>;
  readonly createdBy: number;
  readonly partnerId?: number;
  readonly priority?: number | undefined;
  readonly ttlSeconds?: number | undefined;
}

/**
 * Queues a command of a partner for the terminal of a vehicle, with the default priority and time to live. The calling
 * code must have authorized the partner.
 */
export async function queueForVehicle(
  deps: Pick<CommandUseCaseDeps, 'bus' | 'config' | 'database' | 'records'>,
  vehicle: Vehicle,
  { type, params, ...sender }: Pick<CommandInput, 'type' | 'params' | 'createdBy' | 'partnerId'>,
): Promise<Command> {
  const parsed = parseParams(type, params);
  await assertSubscriptions(deps, { accountId: vehicle.accountId }, [vehicle._id]);
  return enqueue(deps, vehicle, { type, params: parsed, ...sender });
}

async function enqueue(
  deps: Pick<CommandUseCaseDeps, 'bus' | 'database' | 'records'>,
  { _id: vehicleId, accountId, imei, recordedImei }: Vehicle,
  { type, params, priority = defaultPriority, ttlSeconds = defaultTtlSeconds, ...sender }: CommandInput,
): Promise<Command> {
  if (imei === null) throw new AppError('state_conflict', `Vehicle ${vehicleId} has no terminal.`);
  const scope = { accountId };
  const commands = commandCollection(deps.records);
  const fields = {
    ...initialFields,
    commandId: randomBytes(12).toString('hex'),
    vehicleId,
    imei,
    shownImei: recordedImei ?? imei,
    type,
    params: JSON.stringify(params),
    priority,
    maxAttempts: maxAttempts(type),
    ...sender,
    expiresAt: new Date(Date.now() + ttlSeconds * 1000),
  };
  const command = await insertWithinQuota(
    deps.database,
    {
      name: `commands of vehicle ${vehicleId}`,
      limit: maxWaiting,
      message: `Vehicle ${vehicleId} already has ${maxWaiting} waiting commands.`,
    },
    () => commands.count(scope, { vehicleId, status: { $in: ['queued', 'sent'] } }),
    () => commands.insert(scope, fields),
  );
  publish(deps.bus, commandQueued, { imei });
  publishCommand(deps.bus, command);
  return command;
}

/** Initial fields of a command, before its first attempt. */
const initialFields = {
  status: 'queued',
  attempts: 0,
  messageId: null,
  serial: null,
  result: null,
  error: null,
  errorMessage: null,
  answer: null,
  sentAt: null,
  completedAt: null,
  flight: null,
  notBefore: null,
} as const;

/** Returns a page of a vehicle's commands. */
export async function listCommands(
  deps: CommandUseCaseDeps,
  caller: Caller,
  vehicleId: number,
  { status, type, sort }: ListCommandsQuery,
  paging: Pagination,
): Promise<Page<Command>> {
  const { scope } = await findCommandable(deps, caller, vehicleId);
  const { field, direction } = parseSort(sort);
  return commandCollection(deps.records).list(scope, {
    where: { vehicleId, ...omitUndefined({ status, type }) },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
}

export async function readCommand(
  deps: CommandUseCaseDeps,
  caller: Caller,
  vehicleId: number,
  commandId: string,
): Promise<Command> {
  const { scope } = await findCommandable(deps, caller, vehicleId);
  return getCommand(deps, scope, vehicleId, commandId);
}

/** Cancels a command that has not been sent; returns the canceled command. */
export async function cancelCommand(
  deps: CommandUseCaseDeps,
  caller: Caller,
  vehicleId: number,
  commandId: string,
  expectedVersion: number | undefined,
): Promise<Command> {
  const { scope } = await findCommandable(deps, caller, vehicleId);
  const command = await getCommand(deps, scope, vehicleId, commandId);
  if (command.status === 'canceled') throw commandNotFoundError(commandId);
  assertVersion(command, expectedVersion);
  if (!(await new CommandQueue(deps.database).cancel(scope, command._id, expectedVersion)))
    throw await tooLateError(deps, scope, command, expectedVersion);
  await audit(deps, { ...caller, ...scope }, 'commands.cancel', { type: 'commands', id: commandId });
  const canceled = await getCommand(deps, scope, vehicleId, commandId);
  publishCommand(deps.bus, canceled);
  return canceled;
}

async function tooLateError(
  deps: CommandUseCaseDeps,
  scope: Scope,
  { _id: id, commandId }: Command,
  expectedVersion: number | undefined,
): Promise<AppError> {
  const current = await commandCollection(deps.records).find(scope, id);
  if (current === null || current.status === 'canceled') return commandNotFoundError(commandId);
  assertVersion(current, expectedVersion);
  const { status } = current;
  const statusText = status === 'queued' ? 'is being sent' : `is ${status}`;
  return new AppError('state_conflict', `The command ${commandId} ${statusText} and cannot be canceled.`);
}

async function getCommand(
  { records }: CommandUseCaseDeps,
  scope: Scope,
  vehicleId: number,
  commandId: string,
): Promise<Command> {
  const command = await commandCollection(records).findOne(scope, { commandId, vehicleId });
  if (command === null) throw commandNotFoundError(commandId);
  return command;
}

const commandNotFoundError = (commandId: string): AppError =>
  new AppError('not_found', `The command ${commandId} does not exist.`);

/**
 * Cancels the waiting commands of a deleted vehicle, or those for a terminal (`imei`) that has left it. The reason is
 * that the terminal's next vehicle may belong to another account. Commands for the vehicle's current terminal remain
 * queued.
 */
export async function cancelWaitingCommands(
  { records, database }: Pick<Deps, 'records' | 'database'>,
  scope: Scope,
  vehicleId: number,
  imei: string | null = null,
): Promise<void> {
  const queue = new CommandQueue(database);
  const waiting = { vehicleId, status: 'queued', ...(imei === null ? {} : { imei }) } as const;
  for (const { _id } of await commandCollection(records).project(scope, [], waiting)) await queue.cancel(scope, _id);
}

/** Removes completed commands that are older than 90 days (docs/reference/operations.md). */
export const removeOldCommands = ({ database }: Pick<Deps, 'database'>, now = Date.now()): Promise<number> =>
  new CommandQueue(database).removeBefore(new Date(now - 90 * dayMs));
