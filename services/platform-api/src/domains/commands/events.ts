import type { Bus } from '@fleet/bus';
import { publishLive } from '../../event-consumers/publish-live.ts';
import { raiseVehicleEvents } from '../../event-consumers/vehicle-events.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import { toCommandResponse } from './responses.ts';
import type { Command } from './schema.ts';
import { CommandQueue } from './store.ts';

type CommandEventDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'notifications' | 'records' | 'redis' | 'config'>;

const batchSize = 100;

/** Publishes the current state of a command to websockets. */
export function publishCommand(bus: Bus, command: Command): void {
  const { accountId, vehicleId } = command;
  publishLive(bus, accountId, [{ type: 'command', vehicleId, data: toCommandResponse(command) }]);
}

/** Publishes a command that an attempt has changed, and raises a notification if it failed. */
export async function publishUpdate(deps: CommandEventDeps, id: number): Promise<void> {
  const command = await new CommandQueue(deps.database).find(id);
  if (command === null) return;
  if (command.isUntold === true) await notifyFailure(deps, command);
  publishCommand(deps.bus, command);
}

/** Raises `command_failed` for expired commands, and for commands that failed just before their replica died. */
export async function notifyFailures(deps: CommandEventDeps): Promise<void> {
  const queue = new CommandQueue(deps.database);
  for (const command of await queue.listUnnotified(batchSize)) {
    await notifyFailure(deps, command);
    publishCommand(deps.bus, command);
  }
}

/** Raises the notification before marking the command, because a repeated notification is deduplicated. */
async function notifyFailure(deps: CommandEventDeps, command: Command): Promise<void> {
  const { _id, accountId, vehicleId, commandId, type, status, error, result, completedAt } = command;
  const vehicle = (await vehiclesById(deps.records, { accountId }, [vehicleId])).get(vehicleId);
  if (vehicle !== undefined) {
    const attributes = { command_id: commandId, command_type: type, status, error: error ?? status, result };
    const atMs = (completedAt ?? command.updatedAt).getTime();
    const event = { type: 'command_failed', subject: commandId, atMs, attributes };
    await raiseVehicleEvents(deps, [{ vehicle, event }]);
  }
  await new CommandQueue(deps.database).markNotified(_id);
}
