import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isLoopback } from '@fleet/service-kit';

const normalizeAddress = (address: string): string => address.replace(/^::ffff:/i, '').toLowerCase();

/** Returns whether two addresses of sockets are the same host. An IPv4 address may be mapped to IPv6. */
export const isSameHost = (left: string | undefined, right: string | undefined): boolean =>
  left !== undefined && right !== undefined && normalizeAddress(left) === normalizeAddress(right);

/** Lower ports belong to services, not to cameras that listen for data. */
const lowestPort = 1024;

/** Parses the argument of PORT or EPRT; returns null if it is invalid. */
export function parseDataAddress(directive: string, argument: string): { host: string; port: number } | null {
  if (directive === 'PORT') {
    if (!/^\d{1,3}(,\d{1,3}){5}$/.test(argument)) return null;
    const numbers = argument.split(',').map(Number);
    if (numbers.some((number) => number > 255)) return null;
    return { host: numbers.slice(0, 4).join('.'), port: (numbers[4] ?? 0) * 256 + (numbers[5] ?? 0) };
  }
  const [, family, host = '', port = ''] = /^\|([12])\|([0-9a-fA-F.:]{2,45})\|(\d{1,5})\|$/.exec(argument) ?? [];
  if (family === undefined || isIP(host) !== (family === '1' ? 4 : 6) || Number(port) > 65_535) return null;
  return { host, port: Number(port) };
}

/**
 * Returns whether the server may connect to an address. Only the camera's own address is allowed, to prevent attacks on
 * other hosts.
 */
export const isClientAddress = (target: { host: string; port: number }, remoteAddress: string | undefined): boolean =>
  target.port >= lowestPort && isSameHost(target.host, remoteAddress);

const dnsCacheTtlMs = 60_000;

/**
 * Returns the address for PASV replies, whose form allows only IPv4. A client on this machine gets the loopback
 * address.
 */
export function createPassiveAddressResolver(publicHost: string): (clientAddress: string) => Promise<string> {
  let cached: { address: string; untilMs: number } | undefined;
  return async (clientAddress) => {
    if (isLoopback(normalizeAddress(clientAddress))) return '127.0.0.1';
    if (isIP(publicHost) === 4) return publicHost;
    if (cached !== undefined && performance.now() < cached.untilMs) return cached.address;
    const { address } = await lookup(publicHost, { family: 4 });
    cached = { address, untilMs: performance.now() + dnsCacheTtlMs };
    return address;
  };
}
