import { Readable } from 'node:stream';
import type SmtpConnection from 'nodemailer/lib/smtp-connection';
import type { Message } from '../providers/message.ts';
import { classifySmtpFailure } from './mail-failures.ts';
import type { SmtpServer } from './mail-settings.ts';

/** Called before the mail is handed over. If it rejects, nothing has been handed over. */
export type OnHandOver = () => Promise<void>;

const connectTimeoutMs = 10_000;
const socketTimeoutMs = 30_000;

/**
 * Sends one mail on a connection of its own. Rejects with MailDeferred, or with MessageRefusedError if the mail must not be
 * retried.
 */
export async function sendBySmtp(server: SmtpServer, message: Message, onHandOver?: OnHandOver): Promise<void> {
  // Loaded with the first mail to shorten the start of the service.
  const { default: Connection } = await import('nodemailer/lib/smtp-connection');
  const { envelope, content } = await composeMail(server, message);
  const connection = new Connection({
    host: server.host,
    port: server.port,
    secure: server.isImplicitTls,
    requireTLS: server.requiresTls,
    tls: { minVersion: 'TLSv1.2', rejectUnauthorized: true, ...(server.ca === undefined ? {} : { ca: server.ca }) },
    connectionTimeout: connectTimeoutMs,
    greetingTimeout: connectTimeoutMs,
    dnsTimeout: connectTimeoutMs,
    socketTimeout: socketTimeoutMs,
  });
  let isHandedOver = false;
  let handOverFailure: unknown;
  // The connection reads this stream once the server is ready for the content of the mail.
  const body = Readable.from(
    (async function* () {
      try {
        await onHandOver?.();
      } catch (error) {
        handOverFailure = error;
        throw error;
      }
      isHandedOver = true;
      yield content;
    })(),
  );
  const failed = new Promise<never>((_resolve, reject) => {
    connection.on('error', reject);
  });
  try {
    await Promise.race([failed, transfer(connection, server, envelope, body)]);
    connection.quit();
  } catch (error) {
    connection.close();
    if (handOverFailure !== undefined) throw handOverFailure;
    throw classifySmtpFailure(error, isHandedOver);
  } finally {
    body.destroy();
  }
}

interface Envelope {
  readonly from: string;
  readonly to: string[];
}

async function transfer(connection: SmtpConnection, server: SmtpServer, envelope: Envelope, body: Readable) {
  await toPromise((done) => connection.connect(done));
  const { credentials } = server;
  if (credentials !== null) await toPromise((done) => connection.login(credentials, done));
  await toPromise((done) => connection.send(envelope, body, done));
}

const toPromise = (start: (done: (error?: Error | null) => void) => void): Promise<void> =>
  new Promise((resolve, reject) => {
    start((error) => (error === undefined || error === null ? resolve() : reject(error)));
  });

/**
 * Composes the mail. A sender other than the server's own becomes Reply-To, because mails in another name are treated
 * as forged.
 */
async function composeMail(server: SmtpServer, { id, to, from, subject = '', text }: Message) {
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer');
  const node = new MailComposer({
    from: server.from,
    to: { name: '', address: to },
    ...(from === undefined ? {} : { replyTo: { name: '', address: from } }),
    subject,
    text,
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  }).compile();
  const sender = node.getEnvelope().from;
  const sentFrom = typeof sender === 'string' ? sender : server.from;
  // The same in every attempt, so that a recipient's server can detect duplicates.
  if (id !== undefined) node.setHeader('Message-ID', `<${id}@${sentFrom.split('@').at(-1) ?? 'localhost'}>`);
  return { envelope: { from: sentFrom, to: [to] }, content: await node.build() };
}
