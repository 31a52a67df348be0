import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that arrived. */
export interface Received {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or undefined without a body. */
  readonly body: unknown;
}

/** What to answer: a status and a body (text as it is, the rest as JSON), or nothing at all, which is silence. */
export type Answer = { readonly status?: number; readonly body: unknown } | 'silence';

/** A provider on this machine: it answers what the test says, and remembers what it was asked. */
export class ProviderServer {
  readonly received: Received[] = [];
  readonly url: string;
  /** May be replaced at any time. */
  answer: (request: Received) => Answer;
  readonly #server: Server;

  private constructor(server: Server, response: (request: Received) => Answer) {
    this.#server = server;
    this.answer = response;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(answer: (request: Received) => Answer = () => ({ body: {} })): Promise<ProviderServer> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const provider = new ProviderServer(server, answer);
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
        const given = provider.answer(received);
        if (given === 'silence') return;
        const body = typeof given.body === 'string' ? given.body : JSON.stringify(given.body);
        response.writeHead(given.status ?? 200, { 'content-type': 'application/json' }).end(body);
      });
    });
    return provider;
  }

  get last(): Received {
    const last = this.received.at(-1);
    if (last === undefined) throw new Error('the provider was not asked');
    return last;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
