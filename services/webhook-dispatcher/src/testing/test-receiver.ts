import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { selfSigned } from '@fleet/testing';

/** A notification in an envelope, as a receiver parses it. */
interface Envelope {
  readonly date: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly content_length: number;
  readonly body: string;
  readonly method: string;
  readonly path: string;
  readonly query: string;
}

/** A received request. */
interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: string;
  readonly envelope: Envelope;
  /** `webhook-id` */
  readonly id: string;
  readonly notificationId: number;
  readonly atMs: number;
}

/** Returns the response of a receiver; the count is that of the requests so far, from 1. */
type Responder = (response: ServerResponse, received: ReceivedRequest, count: number) => void;

/** Responds with a status, and a body if any. */
export const respondWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Responder =>
  (response) => {
    response.writeHead(status, headers).end(body);
  };

/** Certificate of all receivers of a test run. */
export const certificate = selfSigned();

/** A real HTTPS server that stores its requests and responds as a test specifies. */
export class TestReceiver {
  readonly received: ReceivedRequest[] = [];
  readonly port: number;
  /** Number of connections. */
  connections = 0;
  /** Requests without a response. */
  openRequests = 0;
  maxOpenRequests = 0;
  respond: Responder;
  readonly #server: Server;

  private constructor(server: Server, respond: Responder) {
    this.#server = server;
    this.respond = respond;
    this.port = (server.address() as AddressInfo).port;
  }

  static async start(
    respond: Responder = respondWith(200),
    { cert, key } = certificate,
    port = 0,
  ): Promise<TestReceiver> {
    const server = createServer({ cert, key });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    const receiver = new TestReceiver(server, respond);
    server.on('secureConnection', () => {
      receiver.connections += 1;
    });
    server.on('request', (request, response) => receiver.#onRequest(request, response));
    return receiver;
  }

  /** Requests to this path and query. */
  url(path = '/hook?key=1'): string {
    return `https://127.0.0.1:${this.port}${path}`;
  }

  /** Ids of the received deliveries, each once. */
  get ids(): Set<string> {
    return new Set(this.received.map(({ id }) => id));
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    this.openRequests += 1;
    this.maxOpenRequests = Math.max(this.openRequests, this.maxOpenRequests);
    response.once('close', () => {
      this.openRequests -= 1;
    });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const raw = Buffer.concat(chunks).toString();
      const envelope = JSON.parse(raw) as Envelope;
      const { notification } = JSON.parse(envelope.body) as { notification: { id: number } };
      const received = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        raw,
        envelope,
        id: String(request.headers['webhook-id']),
        notificationId: notification.id,
        atMs: Date.now(),
      };
      this.received.push(received);
      this.respond(response, received, this.received.length);
    });
  }
}
