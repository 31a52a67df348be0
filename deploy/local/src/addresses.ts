import { isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** An address as it stands in a URL. */
export const inUrl = (host: string): string => (isIPv6(host) ? `[${host}]` : host);

export const isLoopback = (host: string): boolean => host === '::1' || host.startsWith('127.');

const isWildcard = (host: string): boolean => host === '0.0.0.0' || host === '::';

/** Where a program on this machine reaches a door that listens on `host`. */
export function localAddress(host: string): string {
  if (!isWildcard(host)) return host;
  return host === '::' ? '::1' : '127.0.0.1';
}

/** What terminals elsewhere are told: with a wildcard, this machine's first address that is not loopback. */
export function publicAddress(host: string): string {
  if (!isWildcard(host)) return host;
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}
