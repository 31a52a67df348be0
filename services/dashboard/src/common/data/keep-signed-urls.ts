import { replaceEqualDeep } from '@tanstack/react-query';

/** A former address is replaced when it would expire within this time. */
const marginMs = 600_000;
const signedUrl = /[?&]expires=(\d+)&signature=[0-9a-f]+/;

/**
 * Merges a response into the former one (`structuralSharing` of a query). The address of a file stays the same while it
 * is valid: each response signs it again, and a player or a picture would load the file again.
 */
export function keepSignedUrls(before: unknown, after: unknown): unknown {
  const former = new Map<string, string>();
  collectUrls(before, former);
  return replaceEqualDeep(before, former.size === 0 ? after : replaceUrls(after, former));
}

const unsigned = (url: string): string => url.replace(signedUrl, '');

function collectUrls(value: unknown, urls: Map<string, string>): void {
  if (typeof value === 'string') {
    const expires = signedUrl.exec(value)?.[1];
    if (expires !== undefined && Number(expires) * 1000 > Date.now() + marginMs) urls.set(unsigned(value), value);
  } else if (typeof value === 'object' && value !== null) {
    for (const each of Object.values(value)) collectUrls(each, urls);
  }
}

function replaceUrls(value: unknown, urls: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return signedUrl.test(value) ? (urls.get(unsigned(value)) ?? value) : value;
  if (Array.isArray(value)) return value.map((each) => replaceUrls(each, urls));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, replaceUrls(each, urls)]));
}
