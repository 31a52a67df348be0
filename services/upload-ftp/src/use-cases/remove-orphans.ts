import type { ClipDirectory, UploadRef } from '../store/clip-directory.ts';
import type { RemoveFilesDeps } from './remove-files.ts';
import type { JobSlice } from './resumable-job.ts';

/** Number of records read in one query. After each batch the end of the slice is checked. */
const batchSize = 200;
const firstRef: UploadRef = { imei: '', id: '' };
const maxFailuresInRow = 3;

type Deps = RemoveFilesDeps & { readonly clips: ClipDirectory; readonly onError: (error: unknown) => void };

/**
 * Removes directories on this pod whose upload was deleted or cancelled. Returns the last directory checked, or null if
 * all have been checked.
 */
export async function removeOrphans(deps: Deps, { cursor, isOver }: JobSlice<UploadRef>): Promise<UploadRef | null> {
  if (!(await deps.clips.emptyTrash(isOver, deps.onError))) return cursor ?? firstRef;
  let batch: UploadRef[] = [];
  for await (const ref of deps.clips.listUploads(cursor)) {
    batch.push(ref);
    if (batch.length < batchSize) continue;
    const last = await removeUnused(deps, batch, isOver);
    if (isOver() || last !== ref) return last;
    batch = [];
  }
  const last = await removeUnused(deps, batch, isOver);
  return last === batch.at(-1) ? null : last;
}

/**
 * Removes the unused directories of a batch and returns the last one checked. A failed removal does not block the
 * others; the next sweep retries it.
 */
async function removeUnused(
  { records, uploads, remove, onError }: Deps,
  refs: readonly UploadRef[],
  isOver: () => boolean,
): Promise<UploadRef | null> {
  const statuses = await records.findStatuses(refs.map(({ id }) => id));
  let last: UploadRef | null = null;
  let failuresInRow = 0;
  for (const ref of refs) {
    const status = statuses.get(ref.id);
    last = ref;
    if (status !== undefined && status !== 'cancelled') continue;
    try {
      await uploads.end(ref.id);
      await remove(ref);
      failuresInRow = 0;
    } catch (error) {
      onError(error);
      failuresInRow += 1;
    }
    // The storage is probably unavailable, so the slice ends here instead of waiting for each removal.
    if (isOver() || failuresInRow === maxFailuresInRow) return last;
  }
  return last;
}
