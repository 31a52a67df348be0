import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A received request. */
interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or undefined without a body. */
  readonly body: unknown;
}

/** The response: a status and a body (text as it is, other values as JSON), or no response at all. */
export type FakeResponse = { readonly status?: number; readonly body: unknown } | 'silence';

/** A fake provider on this machine, which responds as the test specifies and records its requests. */
export class ProviderServer {
  readonly received: Received[] = [];
  readonly url: string;
  /** Creates the response; tests may replace it. */
  respond: (request: Received) => FakeResponse;
  readonly #server: Server;

  private constructor(server: Server, response: (request: Received) => FakeResponse) {
    this.#server = server;
    this.respond = response;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(respond: (request: Received) => FakeResponse = () => ({ body: {} })): Promise<ProviderServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const provider = new ProviderServer(server, respond);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const received: Received = {
          method: request.method ?? '',
          url: new URL(request.url ?? '', provider.url),
          headers: request.headers,
          body: text === '' ? undefined : (JSON.parse(text) as unknown),
        };
        provider.received.push(received);
        const given = provider.respond(received);
        if (given === 'silence') return;
        const body = typeof given.body === 'string' ? given.body : JSON.stringify(given.body);
        response.writeHead(given.status ?? 200, { 'content-type': 'application/json' }).end(body);
      });
    });
    return provider;
  }

  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('the provider received no request');
    return last;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
