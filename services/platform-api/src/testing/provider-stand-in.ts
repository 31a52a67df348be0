import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the fake provider received. */
export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response of the fake provider. */
export interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A fake message provider over HTTP, which records its requests and responds as the test specifies. */
export class ProviderStandIn {
  readonly received: Received[] = [];
  readonly url: string;
  readonly #server: Server;
  /** Creates the response, possibly with a delay. */
  reply: (received: Received) => Reply | Promise<Reply> = () => ({});

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(): Promise<ProviderStandIn> {
    let standIn: ProviderStandIn | undefined;
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { url: path = '', method = '', headers } = request;
        const received = { path, method, headers, body: Buffer.concat(parts).toString() };
        standIn?.received.push(received);
        const respond = async (): Promise<void> => {
          const { status = 200, headers: more = {}, body = {} } = (await standIn?.reply(received)) ?? {};
          response.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body));
        };
        void respond();
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    standIn = new ProviderStandIn(server);
    return standIn;
  }

  to(path: string): Received[] {
    return this.received.filter((each) => each.path === path);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}
