import type { Server, Socket } from 'node:net';
import type { FtpConnection } from 'ftp-srv';

/** The data connector of ftp-srv 4, active or passive. `type` is false before PASV, EPSV, PORT or EPRT. */
export interface Connector {
  readonly type: 'active' | 'passive' | false;
  dataSocket: (Socket & { connected?: boolean }) | null;
  dataServer: Server | null;
  /** Only of a passive connector: listens for the data connection. */
  setupServer?(): Promise<Server>;
  closeSocket(): void;
  closeServer(): void;
  end(): void;
}

/** Members of the ftp-srv 4 server that its published types lack. */
interface FtpServer {
  readonly url: { readonly hostname: string };
  getNextPasvPort(): Promise<number>;
  emit(event: 'client-error', failure: { connection: Connection; context: string; error: Error }): boolean;
}

/** Members of an ftp-srv 4 connection that its published types lack. */
export type Connection = Omit<FtpConnection, 'close' | 'reply' | 'server'> & {
  readonly server: FtpServer;
  close(code: number, message: string): Promise<unknown>;
  reply(options: unknown, ...letters: unknown[]): Promise<unknown>;
  readonly commandSocket: Socket;
  readonly commands: { handle(line: string): Promise<unknown> };
  readonly connector: Connector;
  readonly authenticated?: boolean;
  username?: string | undefined;
};
