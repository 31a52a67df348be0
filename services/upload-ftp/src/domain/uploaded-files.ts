import type { UploadedFile, UploadRecord } from '@fleet/storage';

type Files = readonly UploadedFile[];

/** Sorts files by the start of their first transfers. */
export const sortByStartTime = (files: Files): UploadedFile[] =>
  files.toSorted((a, b) => a.startedAtMs - b.startedAtMs);

export const sizeOf = (files: Files): number => files.reduce((sum, { bytes }) => sum + bytes, 0);

const baseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Returns the API's `filename`: the newest file that has data, else the first one opened. */
export function pickFilename(files: Files): string | null {
  const ordered = sortByStartTime(files);
  const picked = ordered.findLast(({ bytes }) => bytes > 0) ?? ordered[0];
  return picked === undefined ? null : baseName(picked.path);
}

/** Returns the record's fields about files. */
export const toFileFields = (files: Files): Pick<UploadRecord, 'files' | 'filesize' | 'filename'> => ({
  files,
  filesize: sizeOf(files),
  filename: pickFilename(files),
});

/**
 * Returns the files of an upload if it is complete, else null. It is complete if no file is being received, there are
 * bytes, and the newest file is whole. Every other file with bytes has to be whole too, or a later whole file at least
 * as large replaces it and it is omitted. The latter occurs when a camera restarts under another name.
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
