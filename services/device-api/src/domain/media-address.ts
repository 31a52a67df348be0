import { AppError } from '@fleet/service-kit';

/** Address to which a camera streams; port 0 disables the protocol. */
export interface MediaAddress {
  readonly server: string;
  readonly tcpPort: number;
  readonly udpPort: number;
  /** True for an external server: no packet arrives here. */
  readonly isForeign: boolean;
}

/** Parts of the address that a caller may set. */
export interface MediaAddressOptions {
  readonly host?: string | undefined;
  readonly tcpPort?: number | undefined;
  readonly udpPort?: number | undefined;
}

/**
 * Returns the address for a camera: each absent part is that of this product, with TCP only (UDP port 0). Cameras
 * prefer TCP if both ports are given. A caller who wants UDP sets `tcp_port=0`, and gets this product's UDP port by
 * default.
 */
export function resolveMediaAddress(
  options: MediaAddressOptions,
  ownServer: { readonly host: string; readonly port: number; readonly allowlist: string | undefined },
): MediaAddress {
  const server = options.host ?? ownServer.host;
  assertHostAllowed(options.host, ownServer);
  const tcpPort = options.tcpPort ?? ownServer.port;
  const udpPort = options.udpPort ?? (tcpPort === 0 ? ownServer.port : 0);
  if (tcpPort === 0 && udpPort === 0)
    throw new AppError('validation_failed', 'The query parameters tcp_port and udp_port cannot both be 0.');
  const isOwn =
    isSameHost(server, ownServer.host) && [tcpPort, udpPort].every((port) => port === 0 || port === ownServer.port);
  return { server, tcpPort, udpPort, isForeign: !isOwn };
}

const isSameHost = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase();

/** Throws 400 for a host that is neither this product's nor in the allow-list. */
export function assertHostAllowed(
  host: string | undefined,
  ownServer: { readonly host: string; readonly allowlist: string | undefined },
): void {
  if (host === undefined || ownServer.allowlist === undefined || isSameHost(host, ownServer.host)) return;
  const allowedHosts = ownServer.allowlist.split(',').map((entry) => entry.trim());
  if (!allowedHosts.some((entry) => isSameHost(entry, host)))
    throw new AppError('validation_failed', 'The query parameter host is not in the list of allowed media servers.');
}
