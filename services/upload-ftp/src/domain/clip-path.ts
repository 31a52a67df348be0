/** Limits on the depth below the upload's directory and on the length of a path. No camera needs more. */
const maxDepth = 8;
const maxNameBytes = 200;
const maxPathBytes = 800;

/** A path as the camera uses it: the names below the upload's own directory, which is `/`. Empty for that directory. */
export type ClipPath = readonly string[];

/**
 * Resolves a path relative to a directory. The upload's own directory is the root: `..` stops there, so no path leads
 * outside. Returns null for paths with control characters and paths longer than any camera needs. Accepts `\` as a
 * separator, which some cameras use.
 */
export function resolveClipPath(from: ClipPath, path: string): ClipPath | null {
  if (/\p{Cc}/u.test(path) || Buffer.byteLength(path) > maxPathBytes) return null;
  const names = path.replaceAll('\\', '/').split('/');
  const resolved: string[] = names[0] === '' ? [] : [...from];
  for (const name of names) {
    if (name === '' || name === '.') continue;
    if (name === '..') resolved.pop();
    else resolved.push(name);
  }
  if (resolved.length > maxDepth || resolved.some((name) => Buffer.byteLength(name) > maxNameBytes)) return null;
  return Buffer.byteLength(resolved.join('/')) > maxPathBytes ? null : resolved;
}

/** Formats a path for FTP replies. */
export const formatPath = (path: ClipPath): string => `/${path.join('/')}`;
