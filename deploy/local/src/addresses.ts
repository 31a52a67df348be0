import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** Formats an address for a URL. */
export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

export const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.');

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Returns the address at which a program on this machine reaches a port that listens on `host`. */
export function localAddress(host: string): string {
  if (!isWildcard(host)) return host;
  return host === '::' ? '::1' : '127.0.0.1';
}

/**
 * Returns the address for terminals on other machines: with a wildcard, the first address of this machine that is not
 * loopback.
 */
export function publicAddress(host: string): string {
  if (!isWildcard(host)) return host;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
