import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Scope } from '../../store/account-repository.ts';
import { type RemovalDeps, retryRemoval, startRemoval, type UnavailableServers } from './removal-states.ts';
import type { FileLocation, Media, MediaRemoval } from './schema.ts';
import {
  deleteCompletedRemovals,
  findMedia,
  listMediaOfAccount,
  listPendingRemovals,
  listPendingRemovalsOfAccount,
} from './store.ts';

const batchSize = 200;

interface RemoveOptions {
  /** Leaves a file that a user has protected since it was selected. */
  readonly sparesProtected?: boolean;
  readonly unavailableServers?: UnavailableServers;
}

/**
 * Removes a file and its record. If the pod of the file is unavailable, the file is removed later. Returns the bytes
 * that the vehicle uses afterwards, or null if the record was not removed here.
 */
export function removeMedia(
  deps: RemovalDeps,
  { _id: recordId, mediaKey: _id, accountId, file, clip, preview }: Media,
  { sparesProtected = false, unavailableServers }: RemoveOptions = {},
): Promise<number | null> {
  const thumbnail = preview?.thumbnail.file ?? null;
  const fields = { _id, recordId, accountId, file, clip, thumbnail, sparesProtected, storedBeforeMs: null };
  return startRemoval(deps, fields, unavailableServers);
}

/**
 * Removes a file that exceeds the storage limit or the retention, unless a user has protected it since it was selected.
 */
export async function evictMedia(
  deps: RemovalDeps,
  media: Media,
  unavailableServers: UnavailableServers,
): Promise<number | null> {
  const current = await findMedia(deps.records, media._id);
  return current === null || current.protected
    ? null
    : removeMedia(deps, current, { sparesProtected: true, unavailableServers });
}

/** Removes a file that has no record and must not get one. */
export async function deleteUnrecordedFile(
  deps: RemovalDeps,
  removal: Pick<MediaRemoval, '_id' | 'file' | 'accountId' | 'storedBeforeMs'>,
): Promise<void> {
  await startRemoval(deps, { storedBeforeMs: null, ...removal, recordId: null, clip: null, sparesProtected: false });
}

/** Removes a file that was received again although it was removed, or is to be removed. */
export async function deleteResentFile(deps: RemovalDeps, removal: MediaRemoval, file: FileLocation): Promise<void> {
  if (removal.doneAt !== null) return deleteUnrecordedFile(deps, { ...removal, file, storedBeforeMs: null });
  // The removal from the other server stays pending, with its record.
  if (removal.file?.server === file.server) return void (await retryRemoval(deps, removal));
  await deleteReplica(deps, file, { key: removal._id, accountId: removal.accountId });
}

/**
 * Removes one copy of a file that another server also has or had. If both servers share a volume, a copy that was
 * stored later stays.
 */
export const deleteReplica = (
  deps: RemovalDeps,
  file: FileLocation,
  about: { readonly key: string; readonly accountId: number | null; readonly storedBeforeMs?: number },
): Promise<void> => {
  const { key, accountId, storedBeforeMs = null } = about;
  return deleteUnrecordedFile(deps, { _id: `${key}@${file.server}`, file, accountId, storedBeforeMs });
};

/** Retries pending removals. Returns the recording time from which to continue, or null if all were tried. */
export async function retryPendingRemovals(
  deps: RemovalDeps,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  const [unavailableServers, tried, failed] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (;;) {
    const except = { servers: [...unavailableServers], ids: [...failed] };
    const page = await listPendingRemovals(deps.database, from === 1 ? 0 : from, batchSize, except);
    const untried = page.filter(({ _id }) => !tried.has(_id));
    if (untried.length === 0) return null;
    for (const removal of untried) {
      tried.add(removal._id);
      const state = await retryRemoval(deps, removal, unavailableServers);
      if (state === 'pending' && removal.file === null) failed.add(removal._id);
      // Removals recorded at the same time are tried together, unless there are too many, so that each slice makes
      // progress.
      const recordedAtMs = removal.notedAt.getTime();
      if (isOver()) return recordedAtMs > from ? recordedAtMs : from + 1;
    }
  }
}

/** Removes all files of a deleted account; returns false if some files still exist. It may run again. */
export async function removeMediaOfAccount(deps: RemovalDeps, scope: Scope): Promise<boolean> {
  const unavailableServers = new Set<string>();
  for (;;) {
    const some = await listMediaOfAccount(deps.records, scope, batchSize);
    if (some.length === 0) break;
    for (const media of some) await removeMedia(deps, media, { unavailableServers });
  }
  for (const removal of await listPendingRemovalsOfAccount(deps.database, scope))
    await retryRemoval(deps, removal, unavailableServers);
  await deleteCompletedRemovals(deps.database, scope);
  return (await listPendingRemovalsOfAccount(deps.database, scope)).length === 0;
}
