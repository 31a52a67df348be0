import { acceptProxyProtocol } from '@fleet/service-kit';
import type { Connection, Connector } from './ftp-srv-internals.ts';

/**
 * Makes the passive data connections of a camera accept PROXY protocol headers. ftp-srv creates a connector at each
 * PASV, and closes data connections from another address than that of the control connection.
 */
export function acceptProxiedData(connection: Connection, networks: readonly string[]): void {
  if (networks.length === 0) return;
  let current: Connector = connection.connector;
  Object.defineProperty(connection, 'connector', {
    get: () => current,
    set: (connector: Connector) => {
      current = connector;
      const setupServer = connector.setupServer?.bind(connector);
      if (setupServer === undefined) return;
      connector.setupServer = async () => {
        const server = await setupServer();
        acceptProxyProtocol(server, networks);
        return server;
      };
    },
  });
}
