import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Lifecycle, Registry } from '@fleet/service-kit';
import { type PerMessageDeflateOptions, type WebSocket, WebSocketServer } from 'ws';
import type { Deps } from '../platform/deps.ts';
import { closeCodes, reconnectReason } from './close-codes.ts';
import { Connection } from './connection.ts';
import { Hub, type HubDeps } from './hub.ts';
import { Stats } from './stats.ts';
import { parseUpgrade, rejectUpgrade, trustedProxies } from './upgrade.ts';

/** Dependencies of the websocket beside those of all domains. */
export interface WebsocketOptions extends Pick<HubDeps, 'principals' | 'secondMs'> {
  readonly origins: ReadonlySet<string>;
  readonly metrics: Registry;
}

/** A larger message closes the connection unread; above 4 KiB it is read and rejected. */
const maxPayloadBytes = 256 * 1024;
/** Snapshots and batches shrink to a tenth; single events are sent as they are, because they hardly shrink. */
const perMessageDeflate: PerMessageDeflateOptions = {
  threshold: 1_024,
  serverNoContextTakeover: true,
  clientNoContextTakeover: true,
  serverMaxWindowBits: 13,
  zlibDeflateOptions: { level: 3, memLevel: 6 },
};
/** Time-out of the close handshake at shutdown. */
const closeTimeoutMs = 2_000;

/** Accepts websocket connections on a listening server until the service stops. */
export function startWebsocket(deps: Deps, lifecycle: Lifecycle, server: Server, options: WebsocketOptions): void {
  const stats = new Stats();
  stats.register(options.metrics);
  const hub = new Hub(deps, { ...options, stats });
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: maxPayloadBytes,
    perMessageDeflate,
    autoPong: false,
  });
  const isTrusted = trustedProxies(deps.config.TRUST_PROXY);
  const upgrade = (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    // A client that has disconnected needs no response; without a listener its error would end the process.
    socket.on('error', () => socket.destroy());
    const requested = parseUpgrade(request, { origins: options.origins, isTrusted });
    if ('status' in requested) return rejectUpgrade(socket, requested.status, requested.error);
    if (lifecycle.isStopping) return rejectUpgrade(socket, 503, 'The service is stopping. Reconnect.');
    sockets.handleUpgrade(request, socket, head, (ws) => {
      ws.on('error', (error) => deps.log.debug({ err: error }, 'websocket connection failed'));
      hub.accept(ws, new Connection(ws, socket, stats), requested);
    });
  };
  server.on('upgrade', upgrade);
  lifecycle.onStop('websocket', async () => {
    await closeGracefully(sockets.clients, hub);
    hub.stop();
  });
}

/** Requests all clients to reconnect, at spread times, and closes those that do not respond. */
async function closeGracefully(clients: ReadonlySet<WebSocket>, hub: Hub): Promise<void> {
  const closed = [...clients].map((ws) => new Promise<void>((resolve) => ws.once('close', () => resolve())));
  hub.closeAll(closeCodes.restart, () => reconnectReason('restart'));
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, closeTimeoutMs);
  });
  await Promise.race([Promise.all(closed), timeout]);
  clearTimeout(timer);
  for (const ws of clients) ws.terminate();
}
