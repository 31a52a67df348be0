import type { UploadedFile, UploadRecord } from '@fleet/storage';

type Files = readonly UploadedFile[];

/** Files in the order in which their first transfers began. */
export const sortByStartTime = (files: Files): UploadedFile[] =>
  files.toSorted((a, b) => a.startedAtMs - b.startedAtMs);

export const sizeOf = (files: Files): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** The interface's `filename`: the newest file that has bytes, else the first that was opened. */
export function pickFilename(files: Files): string | null {
  const ordered = sortByStartTime(files);
  const picked = ordered.findLast(({ bytes }) => bytes > 0) ?? ordered[0];
  return picked === undefined ? null : baseName(picked.path);
}

/** What an upload's files say in its record. */
export const toFileFields = (files: Files): Pick<UploadRecord, 'files' | 'filesize' | 'filename'> => ({
  files,
  filesize: sizeOf(files),
  filename: pickFilename(files),
});

/**
 * The files of an upload that is whole, or null when it is not: none is being received, there are bytes, the newest is whole, and so is every other that has
 * bytes, or a later whole one at least as large has taken its place (a camera that begins again under another name): that one is left out.
 */
export function findCompleteFiles(files: Files): UploadedFile[] | null {
  const ordered = sortByStartTime(files);
  if (ordered.at(-1)?.state !== 'whole' || sizeOf(files) === 0) return null;
  const completeFiles: UploadedFile[] = [];
  for (const [index, file] of ordered.entries()) {
    if (file.state === 'receiving') return null;
    if (file.state === 'whole') completeFiles.push(file);
    else if (file.bytes > 0) {
      const isSuperseded = ordered
        .slice(index + 1)
        .some(({ state, bytes }) => state === 'whole' && bytes >= file.bytes);
      if (!isSuperseded) return null;
    }
  }
  return completeFiles;
}
