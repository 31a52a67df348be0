import type { components } from '@fleet/api-client';

export type Command = components['schemas']['Command'];

/** Commands of the user that the tray shows, the newest first. */
export const maxCommands = 30;

export const hasEnded = ({ status }: Pick<Command, 'status'>): boolean => status !== 'queued' && status !== 'sent';

/** Returns the commands with a changed one: in its place, or in front of the others. */
export function putCommand(commands: readonly Command[], changed: Command): readonly Command[] {
  const isKnown = commands.some(({ command_id: id }) => id === changed.command_id);
  if (!isKnown) return [changed, ...commands].slice(0, maxCommands);
  // The response to a request may be older than the last event.
  return commands.map((each) =>
    each.command_id === changed.command_id && each.version <= changed.version ? changed : each,
  );
}
