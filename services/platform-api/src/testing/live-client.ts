import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type ClientOptions, WebSocket } from 'ws';

/** A message of the server. */
interface Message {
  readonly type: string;
  readonly ts: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A client of the websocket that records all messages. */
export class LiveClient {
  readonly ws: WebSocket;
  readonly messages: Message[] = [];
  /** Close code and reason, once the connection has ended. */
  closed: { readonly code: number; readonly reason: string } | undefined;
  /** HTTP status, if the server rejected the connection. */
  refused: number | undefined;
  readonly #waiting = new Set<() => void>();

  private constructor(url: string, options: ClientOptions) {
    this.ws = new WebSocket(url, options);
    this.ws.on('message', (data) => {
      this.messages.push(JSON.parse((data as Buffer).toString()) as Message);
      this.#wake();
    });
    this.ws.on('close', (code, reason) => {
      this.closed = { code, reason: String(reason) };
      this.#wake();
    });
    this.ws.on('unexpected-response', (_request, response) => {
      this.refused = response.statusCode;
      response.resume();
      this.ws.terminate();
    });
    // `closed` and `refused` contain the result of errors.
    this.ws.on('error', () => this.#wake());
  }

  /** Connects to `<base>/ws` with a query; resolves when the connection is open or has ended. */
  static async open(base: string, query: string, options: ClientOptions = {}): Promise<LiveClient> {
    const client = new LiveClient(`${base.replace(/^http/, 'ws')}/ws${query}`, options);
    await Promise.race([once(client.ws, 'open'), client.ended()]);
    return client;
  }

  /** Connects and waits for the end of the first snapshot. */
  static async ready(base: string, query: string, options: ClientOptions = {}): Promise<LiveClient> {
    const client = await LiveClient.open(base, query, options);
    await client.until(() => client.of('snapshot').some(({ data }) => data['final'] === true));
    return client;
  }

  get socket(): Socket {
    return (this.ws as unknown as { _socket: Socket })._socket;
  }

  /** Returns the messages of a type, in order. */
  of(type: string): Message[] {
    return this.messages.filter((message) => message.type === type);
  }

  send(message: unknown): void {
    this.ws.send(typeof message === 'string' ? message : JSON.stringify(message));
  }

  /** Waits for the `nth` message of a type. */
  async next(type: string, nth = 1): Promise<Message> {
    await this.until(() => this.of(type).length >= nth);
    const message = this.of(type)[nth - 1];
    if (message === undefined) throw new Error(`the connection ended (${this.closed?.code}) without the message`);
    return message;
  }

  /** Waits for the response to a ping, and so for all earlier messages. */
  async settle(): Promise<void> {
    const id = `settle-${Math.random()}`;
    this.send({ type: 'ping', id });
    await this.until(() => this.of('pong').some(({ data }) => data['id'] === id));
  }

  /** Waits for a condition, or for the end of the connection. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition() && this.closed === undefined)
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
  }

  async ended(): Promise<{ readonly code: number; readonly reason: string }> {
    await this.until(() => false);
    return this.closed ?? { code: 0, reason: '' };
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
