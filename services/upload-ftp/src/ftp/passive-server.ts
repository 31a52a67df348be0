import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { acceptProxyProtocol } from '@fleet/service-kit';
import { isSameHost } from './data-address.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection, Connector } from './ftp-srv-internals.ts';

/** A passive port without a connection is closed after this time, as by ftp-srv. */
const connectTimeoutMs = 30_000;

/**
 * Replaces the passive server of ftp-srv, whose timer keeps the process running after its port was closed. The data
 * connections accept PROXY protocol headers from `networks`. ftp-srv creates a connector at each PASV and EPSV.
 */
export function replacePassiveServer(connection: Connection, networks: readonly string[]): void {
  let current: Connector = connection.connector;
  Object.defineProperty(connection, 'connector', {
    get: () => current,
    set: (connector: Connector) => {
      current = connector;
      if (connector.setupServer === undefined) return;
      connector.setupServer = () => listenForData(connection, connector, networks);
    },
  });
}

async function listenForData(
  connection: Connection,
  connector: Connector,
  networks: readonly string[],
): Promise<Server> {
  connector.closeServer();
  const { server: ftpServer } = connection;
  const port = await ftpServer.getNextPasvPort();
  connector.dataSocket = null;
  const dataServer = createServer({ pauseOnConnect: true });
  connector.dataServer = dataServer;
  dataServer.maxConnections = 1;
  const idleTimer = setTimeout(() => connector.closeServer(), connectTimeoutMs);
  dataServer.on('connection', (socket) => {
    if (!isSameHost(socket.remoteAddress, connection.commandSocket.remoteAddress)) return refuse(connection, socket);
    clearTimeout(idleTimer);
    connector.dataSocket = socket;
    socket.on('error', (error) => ftpServer.emit('client-error', { connection, context: 'dataSocket', error }));
    socket.once('close', () => connector.closeServer());
    // With TLS, the handshake has to follow.
    if (!connection.secure) connector.dataSocket.connected = true;
  });
  dataServer.on('error', (error) => ftpServer.emit('client-error', { connection, context: 'dataServer', error }));
  dataServer.once('close', () => {
    clearTimeout(idleTimer);
    connector.end();
  });
  acceptProxyProtocol(dataServer, networks);
  try {
    await once(dataServer.listen(port, ftpServer.url.hostname), 'listening');
  } catch (cause) {
    clearTimeout(idleTimer);
    throw new FtpError(425, 'No free data port, try again', { cause });
  }
  return dataServer;
}

/** Closes a data connection from another address than that of the control connection, and the control connection. */
function refuse(connection: Connection, socket: Socket): void {
  socket.destroy();
  void connection.reply(550, 'Remote addresses do not match').then(() => connection.close(421, 'Closing connection'));
}
