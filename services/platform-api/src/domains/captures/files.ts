import { type MediaStored, RetryLater } from '@fleet/bus';
import { dayMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { findByKeys, findRemoval } from '../media/queries.ts';
import type { Media } from '../media/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type ArrivedPicture, expectedFiles, matchPicture } from './rules.ts';
import type { Capture, CapturedFile } from './schema.ts';
import { changeCapture, findCapture, listRecentCaptures } from './store.ts';

type FileDeps = Pick<Deps, 'records'>;

/** A terminal may send a picture days later, from an area without network. */
const searchBackMs = 7 * dayMs;
const maxCandidates = 200;
const matchRetryMs = 500;

/**
 * Assigns a file to the capture that caused it, and returns the id of the capture; null if none did. A repeated call
 * returns the same capture. Throws `RetryLater` while the response of the terminal is on its way.
 */
export async function assignFile(
  { records }: FileDeps,
  vehicle: Vehicle,
  stored: MediaStored,
  { mediaKey, takenAtMs }: { readonly mediaKey: string; readonly takenAtMs: number | null },
): Promise<string | null> {
  const file: CapturedFile = { mediaKey, multimediaId: stored.multimediaId };
  if (stored.captureId !== undefined) {
    const recorded = await findCapture(records, stored.captureId);
    if (recorded === null || recorded.vehicleId !== vehicle._id || recorded.accountId !== vehicle.accountId)
      return null;
    return (await addFile(records, recorded, file)).captureId;
  }
  if (stored.source !== 'capture' || stored.multimediaId === null) return null;
  const picture: ArrivedPicture = { ...file, receivedAtMs: stored.receivedAtMs, takenAtMs };
  for (;;) {
    const since = new Date(stored.receivedAtMs - searchBackMs);
    const search = { channelId: stored.channel, since, limit: maxCandidates };
    const captures = await listRecentCaptures(records, vehicle, search);
    const match = matchPicture(captures, picture, Date.now());
    if (match === 'none') return null;
    if (match === 'later') throw new RetryLater(matchRetryMs);
    const changed = await addFile(records, match, file);
    if (hasFile(changed, file)) return changed.captureId;
    // Another picture was assigned to it concurrently.
  }
}

const hasFile = ({ files }: Capture, { mediaKey }: CapturedFile): boolean =>
  files.some((file) => file.mediaKey === mediaKey);

/** Adds a file unless another one was added since the capture was read. */
const addFile = (records: FileDeps['records'], capture: Capture, file: CapturedFile): Promise<Capture> =>
  changeCapture(records, capture, (current) => {
    if (hasFile(current, file)) return null;
    const isUnchanged = file.multimediaId === null || current.files.length === capture.files.length;
    return isUnchanged ? { files: [...current.files, file] } : null;
  });

/**
 * Completes the capture of a recorded file once all its files have arrived. Releases the file from another capture that
 * a concurrent process chose.
 */
export async function completeCapture(
  { records, database }: FileDeps & Pick<Deps, 'database'>,
  { captureId, mediaKey }: Pick<Media, 'captureId' | 'mediaKey'>,
  assignedId: string | null = captureId,
): Promise<void> {
  if (assignedId !== null && assignedId !== captureId)
    await changeCapture(records, { captureId: assignedId }, ({ files }) => ({
      files: files.filter((file) => file.mediaKey !== mediaKey),
    }));
  if (captureId === null) return;
  const capture = await findCapture(records, captureId);
  const arrived = await findArrivedKeys({ records, database }, capture?.files ?? []);
  await changeCapture(records, { captureId }, (current) => {
    const isOpen = current.status === 'pending' || current.status === 'expired';
    const files = current.files.filter((file) => arrived.has(file.mediaKey));
    if (!isOpen || files.length < expectedFiles(current)) return null;
    const method = current.files.every((file) => file.multimediaId === null) ? 'stream' : 'terminal';
    return { status: 'completed', method, completedAt: new Date() };
  });
}

/**
 * Returns the keys of the files that are recorded, or were and have been deleted. A file is assigned before it is
 * recorded: concurrently, another file may be between the two.
 */
async function findArrivedKeys(
  { records, database }: Pick<Deps, 'records' | 'database'>,
  files: readonly CapturedFile[],
): Promise<Set<string>> {
  const keys = files.map(({ mediaKey }) => mediaKey);
  const recorded = await findByKeys(records, keys);
  const arrived = new Set(recorded.keys());
  for (const key of keys) if (!recorded.has(key) && (await findRemoval(database, key)) !== null) arrived.add(key);
  return arrived;
}
