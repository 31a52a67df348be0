import type { ClipDirectory, UploadPlace } from '../store/clip-directory.ts';
import type { RemoveParts } from './remove-files.ts';

const batchSize = 200;

/** Removes the directories of this pod that no upload has use for: its record is gone, or it was cancelled. */
export async function removeOrphans(parts: RemoveParts & { readonly clips: ClipDirectory }): Promise<number> {
  const { records, clips, uploads, remove } = parts;
  await clips.emptyRemoved();
  let removed = 0;
  const removeUnused = async (places: readonly UploadPlace[]): Promise<void> => {
    const statuses = await records.statusesOf(places.map(({ id }) => id));
    for (const place of places) {
      const status = statuses.get(place.id);
      if (status !== undefined && status !== 'cancelled') continue;
      await uploads.end(place.id);
      await remove(place);
      removed += 1;
    }
  };
  let batch: UploadPlace[] = [];
  for await (const place of clips.places()) {
    batch.push(place);
    if (batch.length < batchSize) continue;
    await removeUnused(batch);
    batch = [];
  }
  await removeUnused(batch);
  return removed;
}
