import type { ClipDirectory, UploadPlace } from '../store/clip-directory.ts';
import type { RemoveParts } from './remove-files.ts';
import type { SweepTurn } from './turn-taker.ts';

/** Records that are asked for in one go; behind them it is seen whether the turn is over. */
const batchSize = 200;
const beforeAll: UploadPlace = { imei: '', id: '' };
const maxFailuresInRow = 3;

type Parts = RemoveParts & { readonly clips: ClipDirectory; readonly onError: (error: unknown) => void };

/** Removes the directories of this pod that no upload has use for: its record is gone, or it was cancelled. Answers the last one that was looked at, or null where that were all. */
export async function removeOrphans(
  parts: Parts,
  { from, isOver }: SweepTurn<UploadPlace>,
): Promise<UploadPlace | null> {
  if (!(await parts.clips.emptyRemoved(isOver, parts.onError))) return from ?? beforeAll;
  let batch: UploadPlace[] = [];
  for await (const place of parts.clips.places(from)) {
    batch.push(place);
    if (batch.length < batchSize) continue;
    const last = await removeUnused(parts, batch, isOver);
    if (isOver() || last !== place) return last;
    batch = [];
  }
  const last = await removeUnused(parts, batch, isOver);
  return last === batch.at(-1) ? null : last;
}

/** Answers the last one that was looked at. What can not be removed keeps nothing behind it from being removed; the next sweep tries it again. */
async function removeUnused(
  { records, uploads, remove, onError }: Parts,
  places: readonly UploadPlace[],
  isOver: () => boolean,
): Promise<UploadPlace | null> {
  const statuses = await records.statusesOf(places.map(({ id }) => id));
  let last: UploadPlace | null = null;
  let failuresInRow = 0;
  for (const place of places) {
    const status = statuses.get(place.id);
    last = place;
    if (status !== undefined && status !== 'cancelled') continue;
    try {
      await uploads.end(place.id);
      await remove(place);
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
