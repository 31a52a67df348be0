import net from 'node:net';
import tls from 'node:tls';
import { freePort } from '@fleet/testing';

/**
 * Minimal FTP server for the simulator's own upload tests. Files are in memory, and survive closing and listening
 * again.
 */
export class FtpSink {
  readonly files = new Map<string, Buffer>();
  readonly commands: string[] = [];
  /** Outcome of each transfer, as the server sees it. */
  readonly transfers: ('whole' | 'broken')[] = [];
  /** If given, AUTH TLS is supported. */
  secureContext: tls.SecureContext | null = null;
  readonly #sockets = new Set<net.Socket>();
  readonly #server = net.createServer((socket) => this.#onControl(socket));
  #port = 0;

  get port(): number {
    return this.#port;
  }

  /** Open connections of both kinds. */
  get openConnections(): number {
    return this.#sockets.size;
  }

  async listen(): Promise<this> {
    // The port is reserved: no other process takes it while the server is closed.
    if (this.#port === 0) this.#port = await freePort();
    await new Promise<void>((resolve) => {
      this.#server.listen(this.#port, '127.0.0.1', resolve);
    });
    return this;
  }

  /** Closes the server as if the process was killed. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Tracks a socket until it closes. */
  track(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #onControl(control: net.Socket): void {
    this.track(control);
    const session = new FtpSession(this, control);
    control.write('220-a greeting\r\n220 of two lines\r\n');
    session.listen(control);
  }
}

class FtpSession {
  readonly #sink: FtpSink;
  #control: net.Socket;
  #steps: string[] = [];
  #listener: net.Server | null = null;
  #data: (() => Promise<net.Socket>) | null = null;
  #offset: number | null = null;

  constructor(sink: FtpSink, control: net.Socket) {
    this.#sink = sink;
    this.#control = control;
    control.on('close', () => this.#listener?.close());
  }

  listen(control: net.Socket): void {
    let pending = '';
    control.on('data', (chunk: Buffer) => {
      const lines = (pending + chunk.toString()).split('\r\n');
      pending = lines.pop() ?? '';
      for (const line of lines) this.#command(line);
    });
  }

  #command(line: string): void {
    const [verb = '', ...rest] = line.split(' ');
    const argument = rest.join(' ');
    this.#sink.commands.push(verb === 'PASS' ? 'PASS' : line);
    if (verb === 'USER') this.#reply('331 password');
    else if (verb === 'PASS') this.#reply(argument === 'secret' ? '230 in' : '530 no');
    else if (verb === 'AUTH') this.#secure();
    else if (verb === 'EPSV' || verb === 'PASV') this.#openPassive(verb);
    else if (verb === 'PORT' || verb === 'EPRT') this.#takeAddress(argument);
    else if (verb === 'CWD') {
      if (argument === '/') this.#steps = [];
      else this.#steps.push(argument);
      this.#reply('250 there');
    } else if (verb === 'CDUP') {
      this.#steps.pop();
      this.#reply('250 there');
    } else if (['MKD', 'TYPE', 'PBSZ', 'PROT'].includes(verb)) this.#reply('250 fine');
    else if (verb === 'REST') this.#restAt(Number(argument));
    else if (verb === 'SIZE') this.#size(argument);
    else if (verb === 'STOR' || verb === 'APPE') this.#receive(argument, verb === 'APPE');
    else if (verb === 'QUIT') this.#reply('221 bye');
    else this.#reply('502 no');
  }

  #reply(text: string): void {
    this.#control.write(`${text}\r\n`);
  }

  #path(name: string): string {
    return ['', ...this.#steps, name].join('/');
  }

  #size(name: string): void {
    const file = this.#sink.files.get(this.#path(name));
    this.#reply(file === undefined ? '550 none' : `213 ${file.length}`);
  }

  #restAt(offset: number): void {
    this.#offset = offset;
    this.#reply('350 go on');
  }

  #secure(): void {
    const { secureContext } = this.#sink;
    if (secureContext === null) {
      this.#reply('502 no');
      return;
    }
    this.#reply('234 go on');
    this.#control.removeAllListeners('data');
    const secured = new tls.TLSSocket(this.#control, { isServer: true, secureContext });
    secured.on('error', () => secured.destroy());
    this.#control = secured;
    this.listen(secured);
  }

  #openPassive(verb: 'EPSV' | 'PASV'): void {
    const server = net.createServer();
    this.#listener?.close();
    this.#listener = server;
    const incoming = new Promise<net.Socket>((resolve) => {
      server.once('connection', resolve);
    });
    this.#data = () => incoming;
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as net.AddressInfo;
      const numbers = ['127,0,0,1', port >> 8, port & 0xff].join(',');
      this.#reply(verb === 'EPSV' ? `229 ok (|||${port}|)` : `227 ok (${numbers})`);
    });
  }

  #takeAddress(argument: string): void {
    const numbers = argument.split(',').map(Number);
    const port = argument.startsWith('|')
      ? Number(argument.split('|')[3])
      : (numbers[4] ?? 0) * 256 + (numbers[5] ?? 0);
    this.#data = () => Promise.resolve(net.connect(port, '127.0.0.1'));
    this.#reply('200 fine');
  }

  #receive(name: string, append: boolean): void {
    const path = this.#path(name);
    const previousContent = this.#sink.files.get(path) ?? Buffer.alloc(0);
    const existingContent = append ? previousContent : previousContent.subarray(0, this.#offset ?? 0);
    this.#offset = null;
    this.#sink.files.set(path, existingContent);
    this.#reply('150 go');
    void this.#data?.().then((plain) => this.#store(path, plain));
  }

  #store(path: string, plain: net.Socket): void {
    this.#sink.track(plain);
    const isSecure = this.#control instanceof tls.TLSSocket;
    const secureContext = this.#sink.secureContext ?? undefined;
    const socket = isSecure ? new tls.TLSSocket(plain, { isServer: true, secureContext }) : plain;
    socket.on('data', (chunk: Buffer) => {
      this.#sink.files.set(path, Buffer.concat([this.#sink.files.get(path) ?? Buffer.alloc(0), chunk]));
    });
    socket.once('end', () => {
      socket.end();
      this.#sink.transfers.push('whole');
      this.#reply('226 stored');
    });
    socket.once('error', () => {
      this.#sink.transfers.push('broken');
      this.#reply('426 broken');
    });
  }
}
