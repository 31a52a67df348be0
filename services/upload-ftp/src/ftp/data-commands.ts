import type { SecureContext } from 'node:tls';
import { isClientAddress, parseDataAddress } from './data-address.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection, Connector } from './ftp-srv-internals.ts';
import { endWithoutData, waitForDataConnection } from './transfer.ts';

export interface DataConnectionLimits {
  readonly dataConnectTimeoutMs: number;
  /** Set if AUTH TLS is offered; otherwise null. */
  readonly secureContext: SecureContext | null;
}

/** Handles the commands of one control connection that prepare or use a data connection. */
export class DataCommands {
  readonly #connection: Connection;
  readonly #limits: DataConnectionLimits;
  #connector: Connector | null = null;

  constructor(connection: Connection, limits: DataConnectionLimits) {
    this.#connection = connection;
    this.#limits = limits;
  }

  /** Runs PORT, EPRT, PASV or EPSV. Throws an FtpError for an address that is not that of the client. */
  async prepare(directive: string, argument: string, line: string): Promise<void> {
    const connection = this.#connection;
    if (directive === 'PORT' || directive === 'EPRT') {
      const target = parseDataAddress(directive, argument);
      if (target === null) throw new FtpError(501, 'Invalid address');
      if (!isClientAddress(target, connection.ip)) throw new FtpError(500, 'The address is not that of the client');
    }
    // ftp-srv leaves the previous data connection open. Its end would later end the new one.
    this.#connector?.end();
    if (this.#connector !== null) this.#connector.end = () => undefined;
    // ftp-srv would wait for the TLS handshake before replying 150, but most clients wait for 150 before their
    // handshake.
    const { secure } = connection;
    if (directive === 'PASV' || directive === 'EPSV') connection.secure = false;
    try {
      await connection.commands.handle(line);
    } finally {
      connection.secure = secure;
    }
    this.#connector = connection.connector;
  }

  /** Runs STOR or APPE, which receive a file. */
  async store(line: string): Promise<void> {
    const connection = this.#connection;
    try {
      await this.#waitForDataConnection();
      await connection.commands.handle(line);
    } finally {
      // A restart offset applies to one transfer, even if that could not start.
      connection.restByteCount = 0;
    }
  }

  /** Sends an empty list: cameras need no listing. ftp-srv would send an empty line as an empty list. */
  async sendEmptyList(): Promise<void> {
    const connection = this.#connection;
    const connector = await this.#waitForDataConnection();
    await connection.reply(150);
    if (connector.dataSocket !== null) await endWithoutData(connector.dataSocket, this.#limits.dataConnectTimeoutMs);
    await connection.reply(226);
    connector.end();
  }

  #waitForDataConnection(): Promise<Connector> {
    const { dataConnectTimeoutMs, secureContext } = this.#limits;
    return waitForDataConnection(this.#connection, dataConnectTimeoutMs, secureContext);
  }
}
