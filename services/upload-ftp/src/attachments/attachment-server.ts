import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { acceptProxyProtocol } from '@fleet/service-kit';
import { AttachmentConnection, type AttachmentConnectionOptions } from './attachment-connection.ts';

export interface AttachmentServerOptions extends Omit<AttachmentConnectionOptions, 'onClose'> {
  readonly host: string;
  readonly port: number;
  /** Networks of load balancers that send PROXY protocol headers. */
  readonly proxyNetworks: readonly string[];
  readonly maxConnections: number;
  /** 0 = no limit. */
  readonly maxConnectionsPerAddress: number;
}

const keepAliveAfterMs = 30_000;
const drainPollMs = 50;

/** Runs the TCP server to which terminals send attachments. */
export class AttachmentServer {
  readonly #options: AttachmentServerOptions;
  readonly #connectionOptions: AttachmentConnectionOptions;
  readonly #server: Server;
  readonly #connections = new Set<AttachmentConnection>();
  readonly #perAddress = new Map<string, number>();

  constructor(options: AttachmentServerOptions) {
    this.#options = options;
    this.#connectionOptions = { ...options, onClose: (connection) => this.#onClose(connection) };
    const sockets = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveAfterMs };
    this.#server = createServer(sockets, (socket) => this.#accept(socket));
    acceptProxyProtocol(this.#server, options.proxyNetworks);
    this.#server.maxConnections = options.maxConnections;
    this.#server.on('drop', () => options.metrics.closed.inc({ reason: 'connectionLimit' }));
    options.metrics.observe('connections', () => this.#connections.size);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  get isListening(): boolean {
    return this.#server.listening;
  }

  async start(): Promise<void> {
    const { host, port } = this.#options;
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', reject);
        resolve();
      });
    });
    // After the start, an error means that a connection could not be accepted for lack of file descriptors.
    this.#server.on('error', (error) => this.#options.log.error({ err: error }, 'attachment server failed'));
  }

  /** Stops accepting connections and waits up to `graceMs` for files in transfer. */
  async drain(graceMs: number): Promise<void> {
    this.#server.close();
    const deadlineMs = performance.now() + graceMs;
    for (const connection of this.#connections) connection.drain();
    while (this.#connections.size > 0 && performance.now() < deadlineMs) await sleep(drainPollMs);
  }

  async stop(): Promise<void> {
    this.#server.close();
    await Promise.all([...this.#connections].map((connection) => connection.stop()));
  }

  #accept(socket: Socket): void {
    const connection = new AttachmentConnection(socket, this.#connectionOptions);
    this.#connections.add(connection);
    const count = (this.#perAddress.get(connection.remoteAddress) ?? 0) + 1;
    this.#perAddress.set(connection.remoteAddress, count);
    const { maxConnectionsPerAddress: limit } = this.#options;
    if (limit > 0 && count > limit) void connection.stop('addressLimit');
  }

  #onClose(connection: AttachmentConnection): void {
    const { metrics } = this.#options;
    this.#connections.delete(connection);
    const left = (this.#perAddress.get(connection.remoteAddress) ?? 1) - 1;
    if (left > 0) this.#perAddress.set(connection.remoteAddress, left);
    else this.#perAddress.delete(connection.remoteAddress);
    metrics.closed.inc({ reason: connection.closeReason });
    const { dropped, invalidPackets: badPackets } = connection.splitter;
    for (const [kind, count] of Object.entries({ ...dropped, badPackets }))
      if (count > 0) metrics.dropped.inc({ kind }, count);
  }
}
