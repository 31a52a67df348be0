import type { Command } from './activity-store.ts';

const storageName = 'fleet-activity';

/** Says which command is read again after a reload. Parameters and results may be confidential and are not kept. */
interface CommandReference {
  readonly vehicleId: number;
  readonly commandId: string;
}

const toReference = ({ vehicle_id: vehicleId, command_id: commandId }: Command): CommandReference => ({
  vehicleId,
  commandId,
});

/** Keeps references to the commands until the tab is closed. */
export const saveReferences = (commands: readonly Command[]): void =>
  sessionStorage.setItem(storageName, JSON.stringify(commands.map(toReference)));

/** Returns the references that a reload left. */
export function readReferences(): readonly CommandReference[] {
  const stored = sessionStorage.getItem(storageName);
  return stored === null ? [] : (JSON.parse(stored) as CommandReference[]);
}
