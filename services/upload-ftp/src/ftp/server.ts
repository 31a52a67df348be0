import type { EventEmitter } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { Counter, type Logger, type Registry } from '@fleet/service-kit';
import { FtpSrv } from 'ftp-srv';
import { type ControlConnection, limitLoginTime, readCommandLines } from './control-connection.ts';

/** What cameras use; any other command is answered 502. RETR and DELE are left out on purpose: clips only come in. */
const allowedCommands = (
  'USER PASS AUTH PBSZ PROT TYPE PASV EPSV PORT EPRT STOR APPE REST SIZE NOOP QUIT PWD XPWD CWD CDUP MKD XMKD RNFR RNTO ' +
  'SYST FEAT OPTS MODE STRU ALLO ABOR LIST NLST'
).split(' ');

const maxConnections = 1_000;
const loginLimitMs = 60_000;
const maxRefusals = 3;

export interface FtpOptions {
  readonly host: string;
  readonly port: number;
  readonly publicHost: string;
  readonly passivePorts: { readonly min: number; readonly max: number };
  readonly loginLimitMs?: number;
}

export interface RunningFtp {
  readonly port: number;
  isListening(): boolean;
  stop(): Promise<void>;
}

/** Listens for cameras. No upload has a credential yet, so every login is refused. */
export async function startFtp(options: FtpOptions, log: Logger, metrics: Registry): Promise<RunningFtp> {
  const refused = new Counter({
    name: 'upload_ftp_logins_refused_total',
    help: 'FTP logins that were refused',
    registers: [metrics],
  });
  const ftp = construct(options, log);
  // The published types leave out the server's socket and some of its events.
  const events: EventEmitter = ftp as EventEmitter;
  const { server } = ftp as unknown as { server: Server };
  server.maxConnections = maxConnections;

  events.on('connect', ({ connection }: { connection: ControlConnection }) => {
    readCommandLines(connection, log);
    limitLoginTime(connection, options.loginLimitMs ?? loginLimitMs);
  });
  const refusals = new WeakMap<object, number>();
  ftp.on('login', (attempt, _resolve, reject) => {
    const connection = attempt.connection as unknown as ControlConnection;
    refused.inc();
    const count = (refusals.get(connection) ?? 0) + 1;
    refusals.set(connection, count);
    log.info({ ip: connection.ip, count }, 'FTP login refused');
    reject(new Error('Login incorrect'));
    if (count >= maxRefusals) setImmediate(() => void connection.close(421, 'Too many refused logins'));
  });
  ftp.on('client-error', ({ connection, context, error }) =>
    log.info({ err: error, ip: connection.ip, context }, 'an FTP connection failed'),
  );
  events.on('server-error', ({ error }: { error: Error }) => log.error({ err: error }, 'the FTP server failed'));

  await ftp.listen();
  return {
    port: (server.address() as AddressInfo).port,
    isListening: () => server.listening,
    stop: async () => {
      await ftp.close();
    },
  };
}

/** ftp-srv ends the process on signals by listeners of its own; stopping is the service's business, so they are taken away again. */
function construct(options: FtpOptions, log: Logger): FtpSrv {
  const signals = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;
  const before = new Map(signals.map((signal) => [signal, new Set(process.listeners(signal))]));
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const ftp = new FtpSrv({
    url: `ftp://${host}:${options.port}`,
    pasv_url: options.publicHost,
    pasv_min: options.passivePorts.min,
    pasv_max: options.passivePorts.max,
    whitelist: allowedCommands,
    anonymous: false,
    // Its time-out counts the silence of the control connection, which is normal during a long upload.
    timeout: 0,
    // Its own lines repeat what the events say, and at trace level would show passwords.
    log: log.child({ part: 'ftp-srv' }, { level: 'fatal' }),
  });
  for (const signal of signals)
    for (const listener of process.listeners(signal))
      if (before.get(signal)?.has(listener) === false) process.removeListener(signal, listener);
  return ftp;
}
