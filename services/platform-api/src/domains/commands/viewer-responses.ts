import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { createUserNaming } from '../users/use-cases.ts';
import { toCommandResponse } from './responses.ts';
import type { Command, CommandResponse } from './schema.ts';

/** Converts commands for the caller, with the names of the users who created them. */
export async function toCommandResponses(
  { records }: Pick<Deps, 'records'>,
  caller: Caller,
  commands: readonly Command[],
): Promise<CommandResponse[]> {
  const named = commands.map(({ accountId, createdBy }) => ({ accountId, userId: createdBy }));
  const nameOf = await createUserNaming(records, caller, named);
  return commands.map((command) => {
    const { accountId, createdBy } = command;
    return { ...toCommandResponse(command), created_by_name: nameOf({ accountId, userId: createdBy }) };
  });
}

/** The same for one command. */
export async function toNamedCommand(
  deps: Pick<Deps, 'records'>,
  caller: Caller,
  command: Command,
): Promise<CommandResponse> {
  const [response] = await toCommandResponses(deps, caller, [command]);
  return response ?? toCommandResponse(command);
}
