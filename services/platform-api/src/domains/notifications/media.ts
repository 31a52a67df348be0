import type { RecordStore } from '../../store/record-store.ts';
import type { Notification } from './schema.ts';
import { changeUnchanged, findNotification } from './store.ts';

/** A file of an alarm. */
export type LinkedMedia = Notification['media'][number];

/** More files than any alarm has. */
const maxMedia = 50;
/** Others change the same record at most now and then. */
const maxAttempts = 20;

/** Shows a file with its notification; the notification where it is changed by that, null where it has it already, has enough, or is gone. */
export const linkMedia = (records: RecordStore, id: number, media: LinkedMedia): Promise<Notification | null> =>
  changeList(records, id, (list) =>
    list.length >= maxMedia || list.some((each) => each.id === media.id) ? list : [...list, media],
  );

/** Takes a file that is gone out of its notification. */
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
    const after = await changeUnchanged(records, before, { media });
    if (after !== null) return after;
  }
  throw new Error(`notification ${id} is changed by others all the time`);
}
