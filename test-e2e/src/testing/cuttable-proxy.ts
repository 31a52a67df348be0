import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Passes TCP connections on to a port, until a test cuts them. */
export class CuttableProxy {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #targetPort = 0;
  #isCut = false;

  private constructor(server: Server) {
    this.#server = server;
    server.on('connection', (client) => this.#pass(client));
  }

  static async open(): Promise<CuttableProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CuttableProxy(server);
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  set targetPort(port: number) {
    this.#targetPort = port;
  }

  /** Ends all connections, and accepts none until `restore`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }

  #pass(client: Socket): void {
    if (this.#isCut) {
      client.destroy();
      return;
    }
    const target = connect(this.#targetPort, '127.0.0.1');
    for (const [one, other] of [
      [client, target],
      [target, client],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => one.destroy());
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
