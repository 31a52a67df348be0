import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { createUserNaming } from '../users/use-cases.ts';
import { toCommandResponse } from './responses.ts';
import type { Command, CommandResponse } from './schema.ts';

type Store = Pick<Deps, 'records'>;

const creatorOf = ({ accountId, createdBy }: Command) => ({ accountId, userId: createdBy });

/** Returns a function that converts these commands for the caller, with the names of the users who created them. */
async function createConverter({ records }: Store, caller: Caller, commands: readonly Command[]) {
  const nameOf = await createUserNaming(records, caller, commands.map(creatorOf));
  return (command: Command): CommandResponse => ({
    ...toCommandResponse(command),
    created_by_name: nameOf(creatorOf(command)),
  });
}

/** Converts commands for the caller. */
export const toNamedCommands = async (
  deps: Store,
  caller: Caller,
  commands: readonly Command[],
): Promise<CommandResponse[]> => commands.map(await createConverter(deps, caller, commands));

/** Converts a command for the caller. */
export const toNamedCommand = async (deps: Store, caller: Caller, command: Command): Promise<CommandResponse> =>
  (await createConverter(deps, caller, [command]))(command);
