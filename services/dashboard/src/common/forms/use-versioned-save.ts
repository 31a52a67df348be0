import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { isVersionMismatch } from './faults.ts';

interface VersionedSave<Stored, Change> {
  /** Writes a change to the version that the form loaded. */
  readonly write: (change: Change) => Promise<Stored | undefined>;
  /** Reads the record as it is stored now; null if it does not exist any more. */
  readonly read: () => Promise<Stored | null>;
  readonly onSaved: (record: Stored | undefined) => void | Promise<void>;
}

/** Saves a record. `stored` is the record as somebody else changed it, after a save met another version. */
export function useVersionedSave<Stored, Change>({ write, read, onSaved }: VersionedSave<Stored, Change>) {
  const [stored, setStored] = useState<Stored | null>(null);
  const save = useMutation({
    mutationFn: write,
    onSuccess: async (record) => {
      setStored(null);
      await onSaved(record);
    },
    onError: async (error) => {
      if (isVersionMismatch(error)) setStored(await read());
    },
  });
  const discard = (): void => {
    setStored(null);
    save.reset();
  };
  return { save, stored, discard };
}
