import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the fake provider received. */
export interface ReceivedRequest {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A response of the fake provider. */
export interface ProviderReply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A fake message provider over HTTP, which records its requests and responds as the test specifies. */
export class FakeProvider {
  readonly received: ReceivedRequest[] = [];
  readonly url: string;
  readonly #server: Server;
  /** Creates the response, possibly with a delay. */
  reply: (received: ReceivedRequest) => ProviderReply | Promise<ProviderReply> = () => ({});

  private constructor(server: Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async open(): Promise<FakeProvider> {
    let provider: FakeProvider | undefined;
    const server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => parts.push(part));
      request.on('end', () => {
        const { url: path = '', method = '', headers } = request;
        const received = { path, method, headers, body: Buffer.concat(parts).toString() };
        provider?.received.push(received);
        const respond = async (): Promise<void> => {
          const { status = 200, headers: more = {}, body = {} } = (await provider?.reply(received)) ?? {};
          response.writeHead(status, { 'content-type': 'application/json', ...more }).end(JSON.stringify(body));
        };
        void respond();
      });
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    provider = new FakeProvider(server);
    return provider;
  }

  to(path: string): ReceivedRequest[] {
    return this.received.filter((each) => each.path === path);
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
    });
  }
}
