import type { ClipDirectory, UploadRef } from '../store/clip-directory.ts';
import type { RemoveFilesDeps } from './remove-files.ts';
import type { JobSlice } from './resumable-job.ts';

/** Records that are asked for in one go; behind them it is seen whether the turn is over. */
const batchSize = 200;
const firstRef: UploadRef = { imei: '', id: '' };
const maxFailuresInRow = 3;

type Deps = RemoveFilesDeps & { readonly clips: ClipDirectory; readonly onError: (error: unknown) => void };

/** Removes the directories of this pod that no upload has use for: its record is gone, or it was cancelled. Answers the last one that was looked at, or null where that were all. */
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

/** Answers the last one that was looked at. What cannot be removed keeps nothing behind it from being removed; the next sweep tries it again. */
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
    // Most likely the storage is away: the others would wait for it one after the other.
    if (isOver() || failuresInRow === maxFailuresInRow) return last;
  }
  return last;
}
