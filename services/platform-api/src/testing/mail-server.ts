import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';

/** A mail that the server received. */
interface ReceivedMail {
  readonly from: string;
  readonly to: readonly string[];
  readonly user: string | null;
  readonly isSecure: boolean;
  /** Headers and body. */
  readonly content: string;
}

/** Returns the reply code of a rejection, or null to accept. */
type Verdict = (address: string) => number | null;

const rejection = (code: number | null): Error | null =>
  code === null ? null : Object.assign(new Error('rejected by the test'), { responseCode: code });

/** A real SMTP server. */
export class MailServer {
  readonly received: ReceivedMail[] = [];
  /** Replies to RCPT TO and to the end of the mail; null: accepted. */
  onRecipient: Verdict = () => null;
  onContent: Verdict = () => null;
  /** Closes the connection once the whole mail has arrived, instead of a reply. */
  isCutAfterContent = false;
  /** Number of log-in attempts. */
  logIns = 0;
  readonly port: number;
  readonly #server: SMTPServer;

  private constructor(server: SMTPServer, port: number) {
    this.#server = server;
    this.port = port;
  }

  /** Starts a server on loopback. Requires a log-in if `credentials` is given. */
  static async open(
    options: SMTPServerOptions & { readonly credentials?: { readonly user: string; readonly pass: string } } = {},
    port = 0,
  ): Promise<MailServer> {
    const { credentials, ...others } = options;
    let mails: MailServer | undefined;
    const server = new SMTPServer({
      logger: false,
      hideSTARTTLS: others.key === undefined,
      authOptional: credentials === undefined,
      allowInsecureAuth: others.key === undefined,
      disabledCommands: credentials === undefined ? ['AUTH'] : [],
      onAuth: ({ username, password }, _session, done) => {
        if (mails !== undefined) mails.logIns += 1;
        if (username === credentials?.user && password === credentials?.pass) done(null, { user: username });
        else done(Object.assign(new Error('wrong password'), { responseCode: 535 }));
      },
      onRcptTo: ({ address }, _session, done) => done(rejection(mails?.onRecipient(address) ?? null)),
      onData: (stream, session, done) => {
        const parts: Buffer[] = [];
        stream.on('data', (part: Buffer) => parts.push(part));
        stream.on('end', () => {
          const { envelope, user, secure } = session;
          const to = envelope.rcptTo.map(({ address }) => address);
          const verdict = rejection(mails?.onContent(to[0] ?? '') ?? null);
          if (verdict !== null) return done(verdict);
          const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
          const content = Buffer.concat(parts).toString();
          mails?.received.push({ from, to, user: user === undefined ? null : String(user), isSecure: secure, content });
          if (mails?.isCutAfterContent === true) return mails.#cut();
          return done();
        });
      },
      ...others,
    });
    // A client that disconnects is not an error of the server.
    server.on('error', () => undefined);
    await new Promise<void>((resolve) => server.listen(port, '0.0.0.0', resolve));
    mails = new MailServer(server, (server.server.address() as AddressInfo).port);
    return mails;
  }

  #cut(): void {
    for (const connection of this.#server.connections) connection._socket.destroy();
  }

  async close(): Promise<void> {
    this.#cut();
    await new Promise<void>((resolve) => this.#server.close(resolve));
  }
}
