import { createServer, type Server } from 'node:net';
import { selfSigned, waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Message } from '../providers/message.ts';
import { MailServer } from '../testing/mail-server.ts';
import type { SmtpServer } from './mail-settings.ts';
import { sendBySmtp } from './send-by-smtp.ts';

jest.setTimeout(60_000);

const certificate = selfSigned();
const credentials = { user: 'fleet', pass: 'secret' };
const message: Message = { kind: 'mail', id: 'a1', to: 'ann@fleet.example', subject: 'Hello', text: 'Grüße an alle' };

let servers: { close(): Promise<void> }[] = [];
afterEach(async () => {
  const opened = servers;
  servers = [];
  await Promise.all(opened.map((each) => each.close()));
});

async function open(...given: Parameters<typeof MailServer.open>): Promise<MailServer> {
  const server = await MailServer.open(...given);
  servers.push(server);
  return server;
}

const at = ({ port }: { port: number }, more: Partial<SmtpServer> = {}): SmtpServer => ({
  host: '127.0.0.1',
  port,
  isImplicitTls: false,
  requiresTls: true,
  credentials: null,
  from: 'Fleet <fleet@platform.example>',
  ca: certificate.cert,
  ...more,
});

const plain = { requiresTls: false } as const;

describe('sendBySmtp', () => {
  it('sends by STARTTLS with a log-in', async () => {
    const server = await open({ ...certificate, credentials });
    await sendBySmtp(at(server, { credentials }), message);
    expect(server.received).toEqual([
      expect.objectContaining({
        from: 'fleet@platform.example',
        to: ['ann@fleet.example'],
        user: 'fleet',
        isSecure: true,
      }),
    ]);
    const content = server.received[0]?.content ?? '';
    expect(content).toContain('From: Fleet <fleet@platform.example>');
    expect(content).toContain('Message-ID: <a1@platform.example>');
    expect(content).toContain('Subject: Hello');
    expect(content).toContain('Auto-Submitted: auto-generated');
  });

  it('sends by TLS from the first byte', async () => {
    const server = await open({ ...certificate, secure: true });
    await sendBySmtp(at(server, { isImplicitTls: true, requiresTls: false }), message);
    expect(server.received).toMatchObject([{ isSecure: true }]);
  });

  it('sends without TLS only if permitted, and never sends the password before TLS', async () => {
    const server = await open({ credentials });
    await expect(sendBySmtp(at(server, { credentials }), message)).rejects.toMatchObject({ reason: 'tls_failed' });
    expect([server.received, server.logIns]).toEqual([[], 0]);
    await sendBySmtp(at(server, { ...plain, credentials }), message);
    expect([server.received, server.logIns]).toMatchObject([[{ isSecure: false, user: 'fleet' }], 1]);
  });

  it.each<[string, Partial<SmtpServer>]>([
    ['of no known authority', { ca: undefined }],
    ['of another authority', { ca: selfSigned().cert }],
    ['of another host', { host: '127.0.0.2' }],
  ])('rejects a certificate %s', async (_case, more) => {
    const [upgraded, implicit] = [await open(certificate), await open({ ...certificate, secure: true })];
    const deferred = { name: 'MailDeferred', reason: 'tls_failed' };
    await expect(sendBySmtp(at(upgraded, more), message)).rejects.toMatchObject(deferred);
    await expect(sendBySmtp(at(implicit, { ...more, isImplicitTls: true }), message)).rejects.toMatchObject(deferred);
    expect([upgraded.received, implicit.received]).toEqual([[], []]);
  });

  it('rejects TLS below 1.2', async () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const server = await open({ ...certificate, ...old });
    await expect(sendBySmtp(at(server), message)).rejects.toMatchObject({ reason: 'tls_failed' });
    expect(server.received).toEqual([]);
  });

  it('defers a mail if the log-in fails', async () => {
    const server = await open({ ...certificate, credentials });
    const wrong = { user: 'fleet', pass: 'other-password' };
    const sent = sendBySmtp(at(server, { credentials: wrong }), message);
    await expect(sent).rejects.toMatchObject({ name: 'MailDeferred', reason: 'authentication_failed' });
    await expect(sent).rejects.toThrow(/^(?!.*other-password)/s);
    const missing = sendBySmtp(at(server), message);
    await expect(missing).rejects.toMatchObject({ name: 'MailDeferred', reason: 'authentication_failed' });
  });

  it.each([421, 450, 451, 452])('defers a mail for a reply of %i to the recipient and to the mail', async (code) => {
    const server = await open();
    server.onRecipient = () => code;
    await expect(sendBySmtp(at(server, plain), message)).rejects.toMatchObject({ reason: 'temporary_failure' });
    server.onRecipient = () => null;
    server.onContent = () => code;
    await expect(sendBySmtp(at(server, plain), message)).rejects.toMatchObject({ reason: 'temporary_failure' });
  });

  it.each([550, 552, 554])('gives up a mail for a reply of %i to the recipient and to the mail', async (code) => {
    const server = await open();
    server.onRecipient = () => code;
    await expect(sendBySmtp(at(server, plain), message)).rejects.toMatchObject({ name: 'MessageRefused' });
    server.onRecipient = () => null;
    server.onContent = () => code;
    await expect(sendBySmtp(at(server, plain), message)).rejects.toMatchObject({ name: 'MessageRefused' });
  });

  it('defers a mail if the connection is refused', async () => {
    const server = await MailServer.open();
    await server.close();
    const sent = sendBySmtp(at(server, plain), message);
    await expect(sent).rejects.toMatchObject({ name: 'MailDeferred', reason: 'connection_failed' });
  });

  it('defers a mail if the server closes the connection before it has the mail', async () => {
    const sockets = createServer((socket) => socket.end('220 ready\r\n', () => socket.destroy()));
    servers.push({ close: () => closeServer(sockets) });
    await new Promise<void>((resolve) => sockets.listen(0, '127.0.0.1', resolve));
    const { port } = sockets.address() as { port: number };
    await expect(sendBySmtp(at({ port }, plain), message)).rejects.toMatchObject({ reason: 'connection_failed' });
  });

  it('reports an unknown outcome if the server may have the mail', async () => {
    const server = await open();
    server.isCutAfterContent = true;
    await expect(sendBySmtp(at(server, plain), message)).rejects.toMatchObject({ name: 'MessageRefused' });
    expect(server.received).toHaveLength(1);
  });

  it('sends nothing if the hand-over cannot be recorded', async () => {
    const server = await open();
    const unavailable = new Error('the database is unavailable');
    await expect(sendBySmtp(at(server, plain), message, () => Promise.reject(unavailable))).rejects.toBe(unavailable);
    let isHandedOver = false;
    await sendBySmtp(at(server, plain), message, async () => {
      expect(server.received).toEqual([]);
      isHandedOver = true;
    });
    await waitFor(() => server.received.length === 1);
    expect(isHandedOver).toBe(true);
  });

  it('prevents header injection, and sets Reply-To for another sender', async () => {
    const server = await open();
    const subject = 'Hello\r\nBcc: eve@evil.example';
    await sendBySmtp(at(server, plain), { ...message, subject, from: 'dispatch@customer.example' });
    const [received] = server.received;
    const content = received?.content ?? '';
    expect(received?.to).toEqual(['ann@fleet.example']);
    expect(content).not.toMatch(/^Bcc:/m);
    expect(content).toContain('Reply-To: dispatch@customer.example');
    expect(content).toContain('From: Fleet <fleet@platform.example>');
  });
});

const closeServer = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
