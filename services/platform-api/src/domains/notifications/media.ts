import type { RecordStore } from '../../store/record-store.ts';
import type { Notification } from './schema.ts';
import { findNotification, updateIfUnchanged } from './store.ts';

/** File of an alarm. */
type LinkedMedia = Notification['media'][number];

/** Largest number of files of a notification; no alarm has as many. */
const maxMedia = 50;
/** Concurrent changes of the same record are rare. */
const maxAttempts = 20;

/**
 * Adds a file to its notification. Returns the changed notification, or null if it has the file already, has the
 * maximum of files, or was deleted.
 */
export const linkMedia = (records: RecordStore, id: number, media: LinkedMedia): Promise<Notification | null> =>
  changeList(records, id, (list) =>
    list.length >= maxMedia || list.some((each) => each.id === media.id) ? list : [...list, media],
  );

/** Removes a deleted file from its notification. */
export const unlinkMedia = (records: RecordStore, id: number, mediaId: number): Promise<Notification | null> =>
  changeList(records, id, (list) => (list.some((each) => each.id === mediaId) ? without(list, mediaId) : list));

const without = (list: Notification['media'], id: number): Notification['media'] =>
  list.filter((each) => each.id !== id);

async function changeList(
  records: RecordStore,
  id: number,
  change: (list: Notification['media']) => Notification['media'],
): Promise<Notification | null> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const before = await findNotification(records, id);
    if (before === null) return null;
    const media = change(before.media);
    if (media === before.media) return null;
    const after = await updateIfUnchanged(records, before, { media });
    if (after !== null) return after;
  }
  throw new Error(`notification ${id} is being modified concurrently`);
}
