import type { Server, Socket } from 'node:net';
import type { FtpConnection } from 'ftp-srv';

/** The data connector of ftp-srv 4, active or passive. `type` is false before PASV, EPSV, PORT or EPRT. */
export interface Connector {
  readonly type: 'active' | 'passive' | false;
  dataSocket: (Socket & { connected?: boolean }) | null;
  readonly dataServer: object | null;
  /** Only of a passive connector: listens for the data connection. */
  setupServer?(): Promise<Server>;
  closeSocket(): void;
  end(): void;
}

/** Members of an ftp-srv 4 connection that its published types lack. */
export type Connection = Omit<FtpConnection, 'close' | 'reply'> & {
  close(code: number, message: string): Promise<unknown>;
  reply(options: unknown, ...letters: unknown[]): Promise<unknown>;
  readonly commandSocket: Socket;
  readonly commands: { handle(line: string): Promise<unknown> };
  readonly connector: Connector;
  readonly authenticated?: boolean;
  username?: string | undefined;
};
