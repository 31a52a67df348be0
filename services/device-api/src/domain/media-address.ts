import { AppError } from '@fleet/service-kit';

/** Where a camera is told to stream to; port 0 means that the protocol is not to be used. */
export interface MediaAddress {
  readonly server: string;
  readonly tcpPort: number;
  readonly udpPort: number;
  /** True when it is not our own: no packet will come here. */
  readonly isForeign: boolean;
}

/** What a caller may say about it. */
export interface MediaAddressWish {
  readonly host?: string | undefined;
  readonly tcpPort?: number | undefined;
  readonly udpPort?: number | undefined;
}

/**
 * The address for a camera: each part that the caller leaves out is our own, and our own is TCP alone (UDP port 0). Cameras prefer TCP where both ports
 * are given, so a caller who wants UDP says `tcp_port=0`, and gets our UDP port where no other is named.
 */
export function mediaAddress(
  wish: MediaAddressWish,
  own: { readonly host: string; readonly port: number; readonly allowlist: string | undefined },
): MediaAddress {
  const server = wish.host ?? own.host;
  checkAllowed(wish.host, own);
  const tcpPort = wish.tcpPort ?? own.port;
  const udpPort = wish.udpPort ?? (tcpPort === 0 ? own.port : 0);
  if (tcpPort === 0 && udpPort === 0)
    throw new AppError('validation_failed', 'The query parameters tcp_port and udp_port can not both be 0.');
  const isOurs = isSameHost(server, own.host) && [tcpPort, udpPort].every((port) => port === 0 || port === own.port);
  return { server, tcpPort, udpPort, isForeign: !isOurs };
}

const isSameHost = (left: string, right: string): boolean => left.toLowerCase() === right.toLowerCase();

/** 400 for a host that is neither our own nor in the list of those that callers may send cameras to. */
export function checkAllowed(
  host: string | undefined,
  own: { readonly host: string; readonly allowlist: string | undefined },
): void {
  if (host === undefined || own.allowlist === undefined || isSameHost(host, own.host)) return;
  const allowed = own.allowlist.split(',').map((entry) => entry.trim());
  if (!allowed.some((entry) => isSameHost(entry, host)))
    throw new AppError('validation_failed', 'The query parameter host is not an address that cameras may be sent to.');
}
