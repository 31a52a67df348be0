import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request that the fake payment gateway received. */
interface GatewayRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** Fakes a payment gateway's API on this machine. `answer` creates the response, by method and path. */
export class FakePaymentGateway {
  readonly requests: GatewayRequest[] = [];
  respond: (request: GatewayRequest) => { status?: number; body: unknown } = () => ({ status: 404, body: {} });
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const { method = '', url = '', headers } = request;
        const requested = { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') };
        this.requests.push(requested);
        const { status = 200, body } = this.respond(requested);
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      });
    });
  }

  static async open(): Promise<FakePaymentGateway> {
    const gateway = new FakePaymentGateway();
    await new Promise<void>((resolve) => {
      gateway.#server.listen(0, '127.0.0.1', resolve);
    });
    return gateway;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}
