import { useEffect, useState } from 'react';
import { useLiveEvents } from '../live/live-context.ts';
import { useMe, useSession } from '../session/session-context.ts';
import { type Command, putCommand } from './activity-store.ts';
import { readReferences, saveReferences } from './command-references.ts';

/** Returns the user's commands since the tab was opened, with their current states, and a function that clears them. */
export function useCommandActivity(): { readonly commands: readonly Command[]; readonly clear: () => void } {
  const { api } = useSession();
  const { id: userId } = useMe();
  const [commands, setCommands] = useState<readonly Command[]>([]);
  const put = (changed: Command): void => setCommands((before) => putCommand(before, changed));
  useLiveEvents(({ type, data }) => {
    const changed = data as Command;
    if (type === 'command' && changed.created_by === userId) put(changed);
  });
  const [isRestored, setIsRestored] = useState(false);
  useEffect(() => {
    const restore = async (): Promise<void> => {
      // The oldest first, because each is put in front of the others.
      for (const { vehicleId, commandId } of readReferences().toReversed()) {
        const params = { path: { vehicleId, commandId } };
        const found = await api
          .GET('/api/vehicles/{vehicleId}/commands/{commandId}', { params })
          // The vehicle may have been deleted or is no longer visible; the tray then leaves its commands out.
          .catch(() => undefined);
        if (found?.data !== undefined) put(found.data.data);
      }
      setIsRestored(true);
    };
    void restore();
  }, [api]);
  useEffect(() => {
    if (isRestored) saveReferences(commands);
  }, [commands, isRestored]);
  return { commands, clear: () => setCommands([]) };
}
