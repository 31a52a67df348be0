const loopbackNames = ['127.0.0.1', 'localhost', '[::1]'];

/**
 * Returns the origins whose pages may use dashboard keys: the origin of the public URL, and those of the setting. A
 * loopback URL stands for all loopback names of the machine.
 */
export function allowedOrigins(publicUrl: string, more: string): ReadonlySet<string> {
  const { origin, protocol, hostname, port } = new URL(publicUrl);
  const origins = new Set([origin, ...more.split(',').map((entry) => entry.trim().replace(/\/$/, ''))]);
  if (loopbackNames.includes(hostname))
    for (const name of loopbackNames) origins.add(`${protocol}//${name}${port === '' ? '' : `:${port}`}`);
  origins.delete('');
  return origins;
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
