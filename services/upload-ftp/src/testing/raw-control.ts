import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** A raw control connection that records its output and waits for replies. */
export class RawControl {
  readonly socket: Socket;
  output = '';
  isClosed = false;
  #read = 0;
  #onChange: () => void = () => undefined;

  constructor(port: number) {
    this.socket = connect(port, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (bytes) => {
      this.output += bytes.toString();
      this.#onChange();
    });
    this.socket.on('close', () => {
      this.isClosed = true;
      this.#onChange();
    });
    this.socket.on('error', () => this.#onChange());
  }

  get codes(): string[] {
    return this.output.split('\r\n').map((line) => line.slice(0, 3));
  }

  async waitUntil(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => (this.#onChange = resolve));
  }

  /** Waits for the next final line of a reply, and checks its code. */
  async expectReply(code: number): Promise<string> {
    const line = await this.readReply();
    if (!line.startsWith(`${code} `))
      throw new Error(`received "${line}" instead of ${code}; so far:
${this.output}`);
    return line;
  }

  async readReply(): Promise<string> {
    for (;;) {
      const end = this.output.indexOf('\r\n', this.#read);
      if (end !== -1) {
        const line = this.output.slice(this.#read, end);
        this.#read = end + 2;
        if (/^\d{3} /.test(line)) return line;
      } else if (this.isClosed)
        throw new Error(`the connection was closed; output so far:
${this.output}`);
      else await new Promise<void>((resolve) => (this.#onChange = resolve));
    }
  }

  /** Resolves once the bytes have been sent, so that the next write is a separate segment. */
  write(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => setImmediate(resolve)));
  }

  async sendCommand(line: string, code: number): Promise<string> {
    await this.write(`${line}\r\n`);
    return this.expectReply(code);
  }

  async openPassive(): Promise<Socket> {
    const reply = await this.sendCommand('PASV', 227);
    const [, high, low] = /(\d+),(\d+)\)/.exec(reply) ?? [];
    const data = connect(Number(high) * 256 + Number(low), '127.0.0.1');
    data.on('error', () => undefined);
    await once(data, 'connect');
    return data;
  }

  /** Requests an active data connection and returns it once the server has connected. */
  async openActive(form: 'PORT' | 'EPRT' = 'PORT'): Promise<Socket> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const coming = once(server, 'connection').then(([socket]) => {
      server.close();
      return socket as Socket;
    });
    const argument = form === 'PORT' ? `127,0,0,1,${port >> 8},${port & 255}` : `|1|127.0.0.1|${port}|`;
    await this.sendCommand(`${form} ${argument}`, 200);
    return coming;
  }
}
