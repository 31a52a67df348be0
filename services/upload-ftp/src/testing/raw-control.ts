import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A control connection as raw bytes: what was said so far, and waiting for what is said next. */
export class RawControl {
  readonly socket: Socket;
  said = '';
  isClosed = false;
  #read = 0;
  #changed: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (bytes) => {
      this.said += bytes.toString();
      this.#changed();
    });
    this.socket.on('close', () => {
      this.isClosed = true;
      this.#changed();
    });
    this.socket.on('error', () => this.#changed());
  }

  get codes(): string[] {
    return this.said.split('\r\n').map((line) => line.slice(0, 3));
  }

  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  /** Waits for the next final line of a reply, and checks its code. */
  async hears(code: number): Promise<string> {
    const line = await this.next();
    if (!line.startsWith(`${code} `)) throw new Error(`heard "${line}" in place of ${code}; so far:\n${this.said}`);
    return line;
  }

  async next(): Promise<string> {
    for (;;) {
      const end = this.said.indexOf('\r\n', this.#read);
      if (end !== -1) {
        const line = this.said.slice(this.#read, end);
        this.#read = end + 2;
        if (/^\d{3} /.test(line)) return line;
      } else if (this.isClosed) throw new Error(`the connection was closed; said so far:\n${this.said}`);
      else await new Promise<void>((resolve) => (this.#changed = resolve));
    }
  }

  /** Resolves once the bytes have left, so that the next write is a segment of its own. */
  send(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => setImmediate(resolve)));
  }

  async says(line: string, code: number): Promise<string> {
    await this.send(`${line}\r\n`);
    return this.hears(code);
  }

  async passive(): Promise<Socket> {
    const reply = await this.says('PASV', 227);
    const [, high, low] = /(\d+),(\d+)\)/.exec(reply) ?? [];
    const data = connect(Number(high) * 256 + Number(low), '127.0.0.1');
    data.on('error', () => undefined);
    await once(data, 'connect');
    return data;
  }

  /** Asks the server to dial this client; the answer is its connection once it has come. */
  async active(form: 'PORT' | 'EPRT' = 'PORT'): Promise<Socket> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const coming = once(server, 'connection').then(([socket]) => {
      server.close();
      return socket as Socket;
    });
    const argument = form === 'PORT' ? `127,0,0,1,${port >> 8},${port & 255}` : `|1|127.0.0.1|${port}|`;
    await this.says(`${form} ${argument}`, 200);
    return coming;
  }
}
