import type { Bus } from '@fleet/bus';
import type { Deps } from '../../deps.ts';
import { tellLive } from '../../events/live.ts';
import { raiseHappenings } from '../../events/parts.ts';
import { vehiclesById } from '../vehicles/use-cases.ts';
import type { Command } from './schema.ts';
import { shownCommand } from './shown.ts';
import { CommandQueue } from './store.ts';

type Parts = Pick<Deps, 'bus' | 'database' | 'log' | 'notifications' | 'records' | 'redis'>;

const atOnce = 100;

/** Tells websockets of a command as it is now. */
export function tellOf(bus: Bus, command: Command): void {
  const { accountId, vehicleId } = command;
  tellLive(bus, accountId, [{ type: 'command', vehicleId, data: shownCommand(command) }]);
}

/** Tells of a command that an attempt has changed; where it has failed, with a notification. */
export async function tellOfCommand(parts: Parts, id: number): Promise<void> {
  const command = await new CommandQueue(parts.database).find(id);
  if (command === null) return;
  if (command.isUntold === true) await failed(parts, command);
  tellOf(parts.bus, command);
}

/** Raises `command_failed` for what has expired, and for what failed just before its replica died. */
export async function tellOfFailures(parts: Parts): Promise<void> {
  const queue = new CommandQueue(parts.database);
  for (const command of await queue.untold(atOnce)) {
    await failed(parts, command);
    tellOf(parts.bus, command);
  }
}

/** Before it is noted as told: what is raised twice is one. */
async function failed(parts: Parts, command: Command): Promise<void> {
  const { _id, accountId, vehicleId, commandId, type, status, error, result, completedAt } = command;
  const vehicle = (await vehiclesById(parts.records, { accountId }, [vehicleId])).get(vehicleId);
  if (vehicle !== undefined) {
    const attributes = { command_id: commandId, command_type: type, status, error: error ?? status, result };
    const atMs = (completedAt ?? command.updatedAt).getTime();
    const happening = { type: 'command_failed', subject: commandId, atMs, attributes };
    await raiseHappenings(parts, [{ vehicle, happening }]);
  }
  await new CommandQueue(parts.database).told(_id);
}
