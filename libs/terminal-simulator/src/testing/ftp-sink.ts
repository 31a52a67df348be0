import net from 'node:net';

/** An FTP server just big enough for the simulator's own upload tests: files live in memory. */
export class FtpSink {
  readonly files = new Map<string, Buffer>();
  readonly commands: string[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #server = net.createServer((socket) => this.#onControl(socket));

  get port(): number {
    return (this.#server.address() as net.AddressInfo).port;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => {
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve());
    });
  }

  #track(socket: net.Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
  }

  #onControl(control: net.Socket): void {
    this.#track(control);
    const session = new FtpSession(this, control, (socket) => this.#track(socket));
    control.write('220 ready\r\n');
    let pending = '';
    control.on('data', (chunk: Buffer) => {
      const lines = (pending + chunk.toString()).split('\r\n');
      pending = lines.pop() ?? '';
      for (const line of lines) session.command(line);
    });
  }
}

class FtpSession {
  readonly #sink: FtpSink;
  readonly #control: net.Socket;
  readonly #track: (socket: net.Socket) => void;
  #directory = '';
  #passive: net.Server | null = null;
  #data: Promise<net.Socket> | null = null;

  constructor(sink: FtpSink, control: net.Socket, track: (socket: net.Socket) => void) {
    this.#sink = sink;
    this.#control = control;
    this.#track = track;
    control.on('close', () => this.#passive?.close());
  }

  command(line: string): void {
    const [verb = '', ...rest] = line.split(' ');
    const argument = rest.join(' ');
    this.#sink.commands.push(verb === 'PASS' ? 'PASS' : line);
    if (verb === 'USER') this.#reply('331 password');
    else if (verb === 'PASS') this.#reply(argument === 'secret' ? '230 in' : '530 no');
    else if (verb === 'EPSV') this.#openPassive();
    else if (verb === 'CWD') {
      this.#directory = argument === '/' ? '' : `${argument.startsWith('/') ? '' : `${this.#directory}/`}${argument}`;
      this.#reply('250 there');
    } else if (verb === 'MKD' || verb === 'TYPE' || verb === 'STRU' || verb === 'OPTS') this.#reply('250 fine');
    else if (verb === 'PWD') this.#reply('257 "/"');
    else if (verb === 'SIZE') this.#size(argument);
    else if (verb === 'STOR' || verb === 'APPE') this.#receive(argument, verb === 'APPE');
    else this.#reply('502 no');
  }

  #reply(text: string): void {
    this.#control.write(`${text}\r\n`);
  }

  #path(name: string): string {
    return `${this.#directory}/${name}`;
  }

  #size(name: string): void {
    const file = this.#sink.files.get(this.#path(name));
    this.#reply(file === undefined ? '550 none' : `213 ${file.length}`);
  }

  #openPassive(): void {
    const server = net.createServer();
    this.#passive?.close();
    this.#passive = server;
    this.#data = new Promise((resolve) => {
      server.once('connection', (socket) => {
        this.#track(socket);
        resolve(socket);
      });
    });
    server.listen(0, '127.0.0.1', () => {
      this.#reply(`229 ok (|||${(server.address() as net.AddressInfo).port}|)`);
    });
  }

  #receive(name: string, append: boolean): void {
    const path = this.#path(name);
    if (!append) this.#sink.files.set(path, Buffer.alloc(0));
    this.#reply('150 go');
    void this.#data?.then((socket) => {
      socket.on('data', (chunk: Buffer) => {
        this.#sink.files.set(path, Buffer.concat([this.#sink.files.get(path) ?? Buffer.alloc(0), chunk]));
      });
      socket.on('end', () => {
        socket.end();
        this.#reply('226 stored');
      });
    });
  }
}
