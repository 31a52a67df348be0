import type { Server, Socket } from 'node:net';
import { ConfigError } from '../runtime/config.ts';
import { AddressList, isCidr } from '../security/ip-allowlist.ts';
import { type ProxiedClient, readProxyHeader } from './proxy-header.ts';

/** Setting of every service that accepts connections of terminals over TCP. */
export const proxyProtocolSettings = {
  PROXY_PROTOCOL_NETWORKS: {
    type: 'string',
    default: '',
    description:
      'networks of load balancers, separated by commas, whose connections start with a PROXY protocol header; none if empty',
  },
} as const;

/** Parses PROXY_PROTOCOL_NETWORKS. Throws a ConfigError for anything but networks in CIDR notation. */
export function parseProxyNetworks(text: string): readonly string[] {
  const networks = text
    .split(',')
    .map((network) => network.trim())
    .filter((network) => network !== '');
  const faulty = networks.find((network) => !isCidr(network));
  if (faulty === undefined) return networks;
  throw new ConfigError(`PROXY_PROTOCOL_NETWORKS contains "${faulty}". Give networks such as 10.0.0.0/8.`);
}

/** Time for a header to arrive; load balancers send it with their first packet. */
const headerTimeoutMs = 5_000;

/**
 * Makes a server read a PROXY protocol header, version 1 or 2, from each connection of the `networks`. The server
 * reports the client of the header as `remoteAddress`. Such a connection without a valid header is closed. A header
 * from elsewhere is data like any other: no address is taken from it. Call this once all `connection` listeners are
 * registered.
 */
export function acceptProxyProtocol(
  server: Server,
  networks: readonly string[],
  { timeoutMs = headerTimeoutMs }: { readonly timeoutMs?: number } = {},
): void {
  if (networks.length === 0) return;
  const proxies = new AddressList(networks);
  const listeners = server.listeners('connection');
  server.removeAllListeners('connection');
  const accept = (socket: Socket): void => {
    for (const listener of listeners) listener.call(server, socket);
  };
  const { pauseOnConnect } = server as Server & { readonly pauseOnConnect?: boolean };
  server.on('connection', (socket: Socket) => {
    if (!proxies.includes(socket.remoteAddress ?? '')) return accept(socket);
    receiveHeader(socket, timeoutMs, (client) => {
      if (client !== null) replaceRemote(socket, client);
      if (pauseOnConnect === true) socket.pause();
      accept(socket);
    });
  });
}

/** Reads the header of a connection; the bytes after it stay unread. */
function receiveHeader(socket: Socket, timeoutMs: number, onHeader: (client: ProxiedClient | null) => void): void {
  let received: Buffer = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  const onReadable = (): void => {
    for (let chunk = read(socket); chunk !== null; chunk = read(socket)) {
      received = Buffer.concat([received, chunk]);
      const header = readProxyHeader(received);
      if (header.kind === 'incomplete') continue;
      if (header.kind === 'invalid') return void socket.destroy();
      stop();
      const rest = received.subarray(header.lengthBytes);
      if (rest.length > 0) socket.unshift(rest);
      // The stream leaves the mode of `readable` listeners in the next tick.
      setImmediate(() => {
        if (!socket.destroyed) onHeader(header.client);
      });
      return;
    }
  };
  const onEnd = (): void => void socket.destroy();
  const stop = (): void => {
    clearTimeout(timer);
    socket.off('readable', onReadable).off('end', onEnd);
  };
  socket.on('readable', onReadable);
  socket.once('end', onEnd);
  socket.once('close', stop);
  // Health checks of load balancers often end with a reset; the close event follows.
  socket.on('error', () => socket.destroy());
}

const read = (socket: Socket): Buffer | null => socket.read() as Buffer | null;

function replaceRemote(socket: Socket, { address, port }: ProxiedClient): void {
  Object.defineProperties(socket, {
    remoteAddress: { value: address, configurable: true },
    remotePort: { value: port, configurable: true },
    remoteFamily: { value: address.includes(':') ? 'IPv6' : 'IPv4', configurable: true },
  });
}
