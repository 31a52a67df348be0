import net from 'node:net';
import { type FtpControl, upgradeToTls } from './ftp-control.ts';

/** Mode of a data connection: the terminal connects (PASV, EPSV) or the server does (PORT, EPRT). */
export type DataMode = 'pasv' | 'epsv' | 'port' | 'eprt';

/**
 * A negotiated data connection. `waitUntilConnected` resolves once it is open, which in active mode is after the
 * transfer's command.
 */
interface DataConnection {
  waitUntilConnected(): Promise<net.Socket>;
  /** Closes the connection, or stops waiting for it. */
  abandon(): void;
}

const connectTimeoutMs = 30_000;

function parsePassiveAddress(
  mode: 'pasv' | 'epsv',
  reply: string,
  controlHost: string,
): { host: string; port: number } {
  const numbers = mode === 'pasv' ? /(\d+),(\d+),(\d+),(\d+),(\d+),(\d+)/.exec(reply) : /\(\|\|\|(\d+)\|\)/.exec(reply);
  if (numbers === null) throw new Error(`no address in the FTP reply: ${reply}`);
  const [first = 0, ...others] = numbers.slice(1).map(Number);
  if (mode === 'epsv') return { host: controlHost, port: first };
  const [b = 0, c = 0, d = 0, high = 0, low = 0] = others;
  return { host: [first, b, c, d].join('.'), port: high * 256 + low };
}

async function openPassive(control: FtpControl, mode: 'pasv' | 'epsv'): Promise<DataConnection> {
  const { text } = await control.command(mode.toUpperCase());
  const socket = net.connect(parsePassiveAddress(mode, text, control.socket.remoteAddress ?? ''));
  const connected = new Promise<net.Socket>((resolve, reject) => {
    socket.once('connect', () => resolve(socket));
    socket.once('error', reject);
  });
  // `waitUntilConnected` handles the rejection; this handler prevents an unhandled one before that.
  connected.catch(() => socket.destroy());
  return { waitUntilConnected: () => connected, abandon: () => void socket.destroy() };
}

function formatPortCommand(mode: 'port' | 'eprt', host: string, port: number): string {
  if (mode === 'eprt') return `EPRT |${net.isIPv6(host) ? 2 : 1}|${host}|${port}|`;
  return `PORT ${[...host.split('.'), port >> 8, port & 0xff].join(',')}`;
}

async function openActive(control: FtpControl, mode: 'port' | 'eprt'): Promise<DataConnection> {
  const host = (control.socket.localAddress ?? '127.0.0.1').replace(/^::ffff:/i, '');
  const server = net.createServer();
  const incoming = new Promise<net.Socket>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the FTP server did not connect')), connectTimeoutMs);
    server.once('close', () => clearTimeout(timer));
    server.once('connection', (socket) => {
      server.close();
      resolve(socket);
    });
  });
  incoming.catch(() => server.close());
  await new Promise<void>((resolve) => {
    server.listen(0, host, resolve);
  });
  try {
    await control.command(formatPortCommand(mode, host, (server.address() as net.AddressInfo).port));
  } catch (error) {
    server.close();
    throw error;
  }
  return {
    waitUntilConnected: () => incoming,
    abandon: () => {
      server.close();
      void incoming.then((socket) => socket.destroy());
    },
  };
}

/** Negotiates a data connection; it is secure if the control connection is. */
export async function openData(control: FtpControl, mode: DataMode): Promise<DataConnection> {
  const plain = mode === 'pasv' || mode === 'epsv' ? await openPassive(control, mode) : await openActive(control, mode);
  if (!control.isSecure) return plain;
  return {
    ...plain,
    waitUntilConnected: async () => upgradeToTls(await plain.waitUntilConnected(), control.tlsSession),
  };
}
