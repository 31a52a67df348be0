import { originsOf } from '@fleet/service-kit';

/** Returns the origins whose pages may use dashboard keys: those of the public URL, and those of the setting. */
export function allowedOrigins(publicUrl: string, more: string): ReadonlySet<string> {
  const others = more.split(',').map((entry) => entry.trim().replace(/\/$/, ''));
  return new Set([...originsOf(publicUrl), ...others.filter((entry) => entry !== '')]);
}

/**
 * Returns true for a request from a page of an allowed origin. Browsers omit `Origin` on same-origin reads and identify
 * them by one of two other headers.
 */
export function isFromAllowedOrigin(
  getHeader: (name: string) => string | undefined,
  allowed: ReadonlySet<string>,
): boolean {
  const origin = getHeader('origin');
  if (origin !== undefined) return allowed.has(origin);
  if (getHeader('sec-fetch-site') === 'same-origin') return true;
  const referer = getHeader('referer');
  return referer !== undefined && URL.canParse(referer) && allowed.has(new URL(referer).origin);
}
