import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Frame } from '@fleet/jt808';
import { acceptProxyProtocol } from '@fleet/service-kit';
import type { GatewayMetrics } from '../metrics.ts';
import { Connection, type ConnectionOptions } from './connection.ts';

interface ListenerOptions {
  readonly host: string;
  readonly port: number;
  /** Networks of load balancers that send PROXY protocol headers. */
  readonly proxyNetworks: readonly string[];
  readonly loginTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxConnectionsPerAddress: number;
  readonly writeBufferLimitBytes: number;
  readonly ignoreChecksum: boolean;
  readonly trustActualLength: boolean;
  readonly metrics: GatewayMetrics;
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  readonly onClose: (connection: Connection) => void;
  readonly onGarbage: (connection: Connection) => void;
  readonly onError: (connection: Connection, error: unknown) => void;
}

/** Length of the accept queue; a whole fleet may reconnect concurrently. */
const backlog = 4096;
/** Keep-alive probes detect vanished peers earlier than the idle timeout of sessions. */
const keepAliveAfterMs = 60_000;

/** Opens the TCP port for terminals: accepts connections, applies limits, and closes unauthenticated or idle ones. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #server: Server;
  readonly #connections = new Set<Connection>();
  readonly #perAddress = new Map<string, number>();
  readonly #connectionOptions: ConnectionOptions;
  #sweepTimer: NodeJS.Timeout | undefined;

  constructor(options: ListenerOptions) {
    this.#options = options;
    this.#connectionOptions = { ...options, onClose: (closed) => this.#onClose(closed) };
    this.#server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveAfterMs }, (socket) =>
      this.#accept(socket),
    );
    acceptProxyProtocol(this.#server, options.proxyNetworks);
  }

  get connections(): ReadonlySet<Connection> {
    return this.#connections;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  async start(): Promise<void> {
    const { host, port, loginTimeoutMs, idleTimeoutMs } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port, backlog }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // A timer per connection would cost more than scanning all of them.
    const intervalMs = Math.min(1_000, Math.max(10, Math.min(loginTimeoutMs, idleTimeoutMs) / 4));
    this.#sweepTimer = setInterval(() => this.#closeSilent(), intervalMs);
  }

  /** Stops accepting connections; existing ones stay open. */
  stopAccepting(): void {
    if (this.#server.listening) this.#server.close();
  }

  stop(): void {
    clearInterval(this.#sweepTimer);
    this.stopAccepting();
    for (const connection of this.#connections) connection.close('stop');
  }

  #accept(socket: Socket): void {
    const connection = new Connection(socket, this.#connectionOptions);
    this.#connections.add(connection);
    this.#options.metrics.connections.set(this.#connections.size);
    const { maxConnectionsPerAddress: limit } = this.#options;
    if (limit === 0) return;
    const count = (this.#perAddress.get(connection.remoteAddress) ?? 0) + 1;
    this.#perAddress.set(connection.remoteAddress, count);
    if (count > limit) connection.close('addressLimit');
  }

  #onClose(connection: Connection): void {
    this.#connections.delete(connection);
    const { metrics, maxConnectionsPerAddress: connectionsPerAddress } = this.#options;
    metrics.connections.set(this.#connections.size);
    metrics.closed.inc({ reason: connection.closeReason });
    const { garbage, ...frames } = connection.splitter.dropped;
    if (garbage > 0) metrics.garbageConnections.inc();
    for (const [kind, count] of Object.entries(frames)) if (count > 0) metrics.droppedFrames.inc({ kind }, count);
    if (connectionsPerAddress > 0) {
      const left = (this.#perAddress.get(connection.remoteAddress) ?? 1) - 1;
      if (left > 0) this.#perAddress.set(connection.remoteAddress, left);
      else this.#perAddress.delete(connection.remoteAddress);
    }
    this.#options.onClose(connection);
  }

  #closeSilent(): void {
    const now = performance.now();
    const { loginTimeoutMs, idleTimeoutMs } = this.#options;
    for (const connection of this.#connections) {
      if (connection.session === null) {
        if (now - connection.loginSinceMs >= loginTimeoutMs) connection.close('loginTimeout');
      } else if (now - connection.readAtMs >= idleTimeoutMs) connection.close('idleTimeout');
    }
  }
}
