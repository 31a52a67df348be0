import type { EventEmitter } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { createSecureContext } from 'node:tls';
import { acceptProxyProtocol, type Logger } from '@fleet/service-kit';
import { FtpSrv } from 'ftp-srv';
import type { UploadMetrics } from '../metrics.ts';
import type { ActiveUploads } from '../uploads/active-uploads.ts';
import type { AuthenticateCamera } from '../use-cases/authenticate-camera.ts';
import { ClipFileSystem } from './clip-file-system.ts';
import { createPassiveAddressResolver } from './data-address.ts';
import { FtpError } from './ftp-error.ts';
import { FtpSession, type SessionLimits } from './ftp-session.ts';
import type { Connection } from './ftp-srv-internals.ts';
import { createPassivePortFinder } from './passive-ports.ts';
import { replacePassiveServer } from './passive-server.ts';

// The commands that cameras use. All others get 502. RETR and DELE are excluded on purpose, because clips are only
// uploaded.
const allowedCommands = (
  'USER PASS AUTH PBSZ PROT TYPE PASV EPSV PORT EPRT STOR APPE REST SIZE NOOP QUIT PWD XPWD CWD XCWD CDUP XCUP MKD XMKD ' +
  'RNFR RNTO SYST FEAT OPTS MODE STRU ALLO ABOR LIST NLST'
).split(' ');

const maxRefusals = 3;

interface FtpOptions {
  readonly host: string;
  readonly port: number;
  /** Networks of load balancers that send PROXY protocol headers, also on data connections. */
  readonly proxyNetworks: readonly string[];
  readonly publicHost: string;
  readonly passivePorts: { readonly min: number; readonly max: number };
  readonly maxConnections: number;
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | null;
  readonly limits: Omit<SessionLimits, 'secureContext'>;
}

interface FtpDeps {
  readonly uploads: ActiveUploads;
  readonly authenticate: AuthenticateCamera;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
}

export interface RunningFtp {
  readonly port: number;
  isListening(): boolean;
  /** Stops accepting connections and starting transfers. */
  stopAccepting(): void;
  stop(): Promise<void>;
}

/** Starts the FTP server for cameras. */
export async function startFtp(options: FtpOptions, deps: FtpDeps): Promise<RunningFtp> {
  const { uploads, metrics, log } = deps;
  const sessions = new Map<object, FtpSession>();
  metrics.observe('sessions', () => sessions.size);
  const limits: SessionLimits = {
    ...options.limits,
    secureContext: options.tls === null ? null : createSecureContext(options.tls),
  };
  const ftp = createFtpServer(options, deps);
  // The published types lack the server's socket and some of its events.
  const events: EventEmitter = ftp as EventEmitter;
  const { server } = ftp as unknown as { server: Server };
  server.maxConnections = options.maxConnections;
  acceptProxyProtocol(server, options.proxyNetworks);

  const onClose = (session: FtpSession): void => {
    sessions.delete(session.connection);
    if (session.upload !== null) uploads.disconnect(session.upload.id, session);
  };
  events.on('connect', ({ connection }: { connection: Connection }) => {
    replacePassiveServer(connection, options.proxyNetworks);
    sessions.set(
      connection,
      new FtpSession(connection, { limits, log, isDraining: () => uploads.isDraining, onClose }),
    );
  });
  ftp.on('login', ({ connection, username, password }, resolve, reject) => {
    const session = sessions.get(connection);
    if (session === undefined) return reject(new Error('Login incorrect'));
    void authenticateConnection(session, username, password, deps).then(
      (fs) => resolve({ fs: fs as never }),
      (error: unknown) => reject(error instanceof Error ? error : new Error('Login incorrect')),
    );
  });
  ftp.on('client-error', ({ connection, context, error }) =>
    log.info({ err: error, ip: connection.ip, context }, 'FTP connection failed'),
  );
  events.on('server-error', ({ error }: { error: Error }) => log.error({ err: error }, 'FTP server failed'));

  await ftp.listen();
  const stopAccepting = (): void => {
    server.close();
    for (const session of sessions.values()) if (!session.isReceiving) session.close(421, 'The server is stopping');
  };
  return {
    port: (server.address() as AddressInfo).port,
    isListening: () => server.listening,
    stopAccepting,
    stop: async () => {
      for (const session of sessions.values()) session.close(421, 'The server is stopping');
      await ftp.close();
    },
  };
}

/** Authenticates a connection. Refuses every invalid login with the same reply; internal failures get another. */
async function authenticateConnection(
  session: FtpSession,
  username: string,
  password: string,
  { authenticate, uploads, metrics, log }: FtpDeps,
): Promise<ClipFileSystem> {
  const { connection } = session;
  try {
    const login = await authenticate(username, password);
    if (login.kind === 'refused') {
      session.refusals += 1;
      metrics.logins.inc({ result: 'refused' });
      log.info({ ip: connection.ip, count: session.refusals }, 'FTP login refused');
      if (session.refusals >= maxRefusals) setImmediate(() => session.close(421, 'Too many refused logins'));
      throw new FtpError(530, 'Login incorrect');
    }
    const upload = await uploads.connect(login.record, session);
    session.upload = upload;
    metrics.logins.inc({ result: 'accepted' });
    log.info({ ip: connection.ip, uploadId: upload.id, imei: upload.ref.imei }, 'camera logged in');
    return new ClipFileSystem(upload, (writer) => session.startTransfer(writer));
  } catch (error) {
    if (error instanceof FtpError && error.code === 530) throw error;
    metrics.logins.inc({ result: 'failed' });
    if (!(error instanceof FtpError)) log.warn({ err: error, ip: connection.ip }, 'FTP login failed');
    setImmediate(() => session.close(421, 'Temporarily unavailable, try again'));
    throw new FtpError(421, 'Temporarily unavailable, try again');
  }
}

/**
 * Creates the ftp-srv server. ftp-srv adds signal listeners that end the process. They are removed, because the service
 * controls its own stop.
 */
function createFtpServer(options: FtpOptions, { log, metrics }: FtpDeps): FtpSrv {
  const signals = ['SIGTERM', 'SIGINT', 'SIGQUIT'] as const;
  const listenersBefore = new Map(signals.map((signal) => [signal, new Set(process.listeners(signal))]));
  const host = options.host.includes(':') ? `[${options.host}]` : options.host;
  const ftp = new FtpSrv({
    url: `ftp://${host}:${options.port}`,
    // ftp-srv calls a function with the client's address. The published types allow only a string.
    pasv_url: createPassiveAddressResolver(options.publicHost) as unknown as string,
    pasv_min: options.passivePorts.min,
    pasv_max: options.passivePorts.max,
    tls: options.tls ?? false,
    whitelist: allowedCommands,
    anonymous: false,
    // The timeout of ftp-srv measures silence on the control connection, which is normal during a long upload.
    timeout: 0,
    // ftp-srv's log lines repeat the events, and at trace level contain passwords.
    log: log.child({ part: 'ftp-srv' }, { level: 'fatal' }),
  });
  const findPassivePort = createPassivePortFinder(options.host, options.passivePorts, () =>
    metrics.passiveExhausted.inc(),
  );
  const { connections } = ftp as unknown as { connections: Record<string, Connection> };
  // The function of ftp-srv starts a timer for each connection, which nothing stops.
  const disconnectClient = async (id: string): Promise<void> => {
    const connection = connections[id];
    delete connections[id];
    await connection?.close(0, '');
  };
  Object.assign(ftp, { getNextPasvPort: findPassivePort, disconnectClient });
  for (const signal of signals)
    for (const listener of process.listeners(signal))
      if (listenersBefore.get(signal)?.has(listener) === false) process.removeListener(signal, listener);
  return ftp;
}
