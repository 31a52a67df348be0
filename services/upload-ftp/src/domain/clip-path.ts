/** Deepest directory below the upload's own, and longest path: no camera needs more. */
const maxDepth = 8;
const maxNameBytes = 200;
const maxPathBytes = 800;

/** A path as a camera sees it: its names below the upload's own directory, which is `/`; empty for that directory itself. */
export type ClipPath = readonly string[];

/**
 * Where a path leads from a directory. As in a file system whose root is the upload's own directory: `..` stops there, so no path leads outside. Null for what
 * cannot be a path: control characters, or longer than any camera needs. Some cameras separate by `\`.
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

/** A path as answers show it. */
export const formatPath = (path: ClipPath): string => `/${path.join('/')}`;
