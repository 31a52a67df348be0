import { randomBytes } from 'node:crypto';
import { announce, commandQueued } from '@fleet/bus';
import {
  AppError,
  type PageItems,
  type Paging,
  type RequestContext,
  readSorting,
  requireVersion,
} from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { may } from '../../access/roles.ts';
import type { Deps } from '../../deps.ts';
import { given } from '../../fields.ts';
import type { Scope } from '../../store/account-records.ts';
import { insertWithin } from '../../store/limits.ts';
import { audit } from '../audit/use-cases.ts';
import { checkSubscriptions } from '../billing/subscriptions.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { type CommandType, readParams } from './params.ts';
import { isCritical, maxAttemptsOf } from './rules.ts';
import {
  type Command,
  type CreateCommandBody,
  defaultPriority,
  defaultTtlSeconds,
  type ListCommandsQuery,
} from './schema.ts';
import { CommandQueue, commandsIn } from './store.ts';
import { tellOf } from './tell.ts';

type Parts = Pick<Deps, 'bus' | 'config' | 'database' | 'limits' | 'log' | 'records'>;

/** Commands of a vehicle that wait at the same time. */
const maxWaiting = 200;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', expires_at: 'expiresAt' };

/** A vehicle that the caller may command, and whose records its commands are. */
async function commanded(
  deps: Parts,
  caller: Caller,
  vehicleId: number,
): Promise<{ vehicle: Vehicle; scope: Scope; isOwn: boolean }> {
  const { vehicle, access } = await visibleVehicle(deps, caller, vehicleId, 'commands');
  return { vehicle, scope: { accountId: vehicle.accountId }, isOwn: access === 'owner' };
}

/** Puts a command into the queue of a vehicle's terminal. */
export async function createCommand(
  deps: Parts,
  caller: Caller,
  vehicleId: number,
  body: CreateCommandBody,
  context: RequestContext,
): Promise<Command> {
  const { vehicle, scope, isOwn } = await commanded(deps, caller, vehicleId);
  const { type } = body;
  const params = readParams(type, body.params ?? {});
  if (isCritical(type, params) && !(isOwn && may(caller.role, 'criticalCommands')))
    throw new AppError('permission_denied', 'This command needs an owner or admin of the vehicle’s account.');
  await checkSubscriptions(deps, scope, [vehicleId]);
  if (vehicle.imei === null) throw new AppError('state_conflict', `Vehicle ${vehicleId} has no terminal.`);
  if (type === 'capture') await deps.limits.consume('capture', `vehicle:${vehicleId}`, context);
  const { priority, ttl_seconds: ttlSeconds } = body;
  const command = await enqueue(deps, vehicle, { type, params, priority, ttlSeconds, createdBy: caller.userId });
  const detail = { vehicle_id: vehicleId, type, ...(type === 'control' ? { command: params['command'] } : {}) };
  const target = { type: 'commands', id: command.commandId } as const;
  await audit(deps, { ...caller, ...scope }, 'commands.create', target, detail);
  return command;
}

interface ToQueue {
  readonly type: CommandType;
  readonly params: Record<string, unknown>;
  readonly createdBy: number;
  readonly partnerId?: number;
  readonly priority?: number | undefined;
  readonly ttlSeconds?: number | undefined;
}

/** Puts a command of a partner into the queue of a vehicle's terminal, with the default priority and time to live; its caller has checked who asks. */
export async function queueForVehicle(
  deps: Pick<Parts, 'bus' | 'config' | 'database' | 'records'>,
  vehicle: Vehicle,
  { type, params, ...sender }: Pick<ToQueue, 'type' | 'params' | 'createdBy' | 'partnerId'>,
): Promise<Command> {
  const read = readParams(type, params);
  await checkSubscriptions(deps, { accountId: vehicle.accountId }, [vehicle._id]);
  return enqueue(deps, vehicle, { type, params: read, ...sender });
}

async function enqueue(
  deps: Pick<Parts, 'bus' | 'database' | 'records'>,
  { _id: vehicleId, accountId, imei, recordedImei }: Vehicle,
  { type, params, priority = defaultPriority, ttlSeconds = defaultTtlSeconds, ...sender }: ToQueue,
): Promise<Command> {
  if (imei === null) throw new AppError('state_conflict', `Vehicle ${vehicleId} has no terminal.`);
  const scope = { accountId };
  const commands = commandsIn(deps.records);
  const fields = {
    ...blank,
    commandId: randomBytes(12).toString('hex'),
    vehicleId,
    imei,
    shownImei: recordedImei ?? imei,
    type,
    params: JSON.stringify(params),
    priority,
    maxAttempts: maxAttemptsOf(type),
    ...sender,
    expiresAt: new Date(Date.now() + ttlSeconds * 1000),
  };
  const command = await insertWithin(
    deps.database,
    {
      name: `commands of vehicle ${vehicleId}`,
      limit: maxWaiting,
      message: `${maxWaiting} commands of vehicle ${vehicleId} wait already.`,
    },
    () => commands.count(scope, { vehicleId, status: { $in: ['queued', 'sent'] } }),
    () => commands.insert(scope, fields),
  );
  announce(deps.bus, commandQueued, { imei });
  tellOf(deps.bus, command);
  return command;
}

/** A command that nobody has tried to send yet. */
const blank = {
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

/** A page of a vehicle's commands. */
export async function listCommands(
  deps: Parts,
  caller: Caller,
  vehicleId: number,
  { status, type, sort }: ListCommandsQuery,
  paging: Paging,
): Promise<PageItems<Command>> {
  const { scope } = await commanded(deps, caller, vehicleId);
  const { field, direction } = readSorting(sort);
  return commandsIn(deps.records).list(scope, {
    where: { vehicleId, ...given({ status, type }) },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
}

export async function readCommand(deps: Parts, caller: Caller, vehicleId: number, commandId: string): Promise<Command> {
  const { scope } = await commanded(deps, caller, vehicleId);
  return found(deps, scope, vehicleId, commandId);
}

/** Takes a command back that has not been sent; the command as it is then. */
export async function cancelCommand(
  deps: Parts,
  caller: Caller,
  vehicleId: number,
  commandId: string,
  expectedVersion: number | undefined,
): Promise<Command> {
  const { scope } = await commanded(deps, caller, vehicleId);
  const command = await found(deps, scope, vehicleId, commandId);
  if (command.status === 'canceled') throw notFound(commandId);
  requireVersion(command, expectedVersion);
  if (!(await new CommandQueue(deps.database).cancel(scope, command._id, expectedVersion)))
    throw await tooLate(deps, scope, command, expectedVersion);
  await audit(deps, { ...caller, ...scope }, 'commands.cancel', { type: 'commands', id: commandId });
  const canceled = await found(deps, scope, vehicleId, commandId);
  tellOf(deps.bus, canceled);
  return canceled;
}

async function tooLate(
  deps: Parts,
  scope: Scope,
  { _id: id, commandId }: Command,
  expectedVersion: number | undefined,
): Promise<AppError> {
  const now = await commandsIn(deps.records).find(scope, id);
  if (now === null || now.status === 'canceled') return notFound(commandId);
  requireVersion(now, expectedVersion);
  const { status } = now;
  const what = status === 'queued' ? 'is being sent' : `is ${status}`;
  return new AppError('state_conflict', `The command ${commandId} ${what}: it can not be canceled.`);
}

async function found({ records }: Parts, scope: Scope, vehicleId: number, commandId: string): Promise<Command> {
  const command = await commandsIn(records).findOne(scope, { commandId, vehicleId });
  if (command === null) throw notFound(commandId);
  return command;
}

const notFound = (commandId: string): AppError => new AppError('not_found', `There is no command ${commandId}.`);

/**
 * Takes back what waits for a vehicle that is deleted, or for a terminal (`imei`) that has left it: the next one to have it may be another's. What waits for the
 * terminal that is there now stays.
 */
export async function cancelCommandsOf(
  { records, database }: Pick<Deps, 'records' | 'database'>,
  scope: Scope,
  vehicleId: number,
  imei: string | null = null,
): Promise<void> {
  const queue = new CommandQueue(database);
  const waiting = { vehicleId, status: 'queued', ...(imei === null ? {} : { imei }) } as const;
  for (const { _id } of await commandsIn(records).parts(scope, [], waiting)) await queue.cancel(scope, _id);
}

/** Commands are kept for 90 days (platform-contract.md, section 26). */
export const removeOldCommands = ({ database }: Pick<Deps, 'database'>, now = Date.now()): Promise<number> =>
  new CommandQueue(database).removeBefore(new Date(now - 90 * 86_400_000));
