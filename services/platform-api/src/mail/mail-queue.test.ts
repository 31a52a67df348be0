import { randomBytes } from 'node:crypto';
import { createLogger, Encryption } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../assembly/config.ts';
import { createMessageSender, type MessageSender } from '../providers/message-sender.ts';
import { FakeProvider } from '../testing/fake-provider.ts';
import { MailServer } from '../testing/mail-server.ts';
import { type Mail, MailQueue, type MailQueueTimings } from './mail-queue.ts';
import { removeOldMails, type StoredMail } from './mail-store.ts';

jest.setTimeout(60_000);

const log = createLogger('mail-queue-test', 'silent');
const encryption = new Encryption('an encryption key of the tests, long enough');
const mail: Mail = {
  accountId: 1,
  userId: 7,
  purpose: 'invitation',
  to: 'ann@fleet.example',
  subject: 'Your invitation',
  text: 'Choose a password: https://fleet.example/reset-password?token=pr_secret',
  lifetimeMs: 3_600_000,
};

let database: Database;
let server: MailServer;
let queues: MailQueue[] = [];
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/mail_queue_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'mail-queue-test' });
});
beforeEach(async () => {
  server = await MailServer.open();
});
afterEach(async () => {
  const opened = queues;
  queues = [];
  await Promise.all(opened.map((each) => each.stop()));
  await server.close();
  await stored().deleteMany({});
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const stored = () => database.collection<StoredMail>('mails');
const findOnlyMail = async (): Promise<StoredMail> => {
  const [first, ...others] = await stored().find({}).toArray();
  if (first === undefined || others.length > 0) throw new Error('expected exactly one mail');
  return first;
};
const statusIs = (status: StoredMail['status']) => waitFor(async () => (await findOnlyMail()).status === status);
const smtp = (port: number): MessageSender =>
  createMessageSender(loadConfig({ SMTP_URL: `smtp://127.0.0.1:${port}`, MAIL_FROM: 'fleet@platform.example' }), log);

function open(messages: MessageSender = smtp(server.port), times: Partial<MailQueueTimings> = {}): MailQueue {
  const queue = new MailQueue({ database, encryption, log, messages }, { pollIntervalMs: 20, retryMs: 20, ...times });
  queues.push(queue);
  return queue;
}

const messageIds = (): (string | undefined)[] =>
  server.received.map(({ content }) => /^Message-ID: (.+)$/m.exec(content)?.[1]?.trim());

describe('mail queue', () => {
  it('sends a mail immediately, and stores its text encrypted and only while it is queued', async () => {
    server.onContent = () => 451;
    const queue = open();
    expect(await queue.send(mail)).toBe('queued');
    const waiting = await findOnlyMail();
    expect(waiting).toMatchObject({ status: 'queued', attempts: 1, reason: 'temporary_failure' });
    expect(JSON.stringify(waiting)).not.toMatch(/pr_secret|ann@fleet/);
    await stored().deleteMany({});
    server.onContent = () => null;
    expect(await queue.send(mail)).toBe('sent');
    expect(server.received).toMatchObject([{ to: ['ann@fleet.example'] }]);
    expect(await findOnlyMail()).toMatchObject({ status: 'sent', sealedContent: null, reason: null, attempts: 1 });
  });

  it('sends a mail once, with one Message-ID, after replies of 4xx', async () => {
    let attempts = 0;
    const seen = new Set<string>();
    server.onContent = () => {
      attempts += 1;
      return attempts <= 3 ? 451 : null;
    };
    const queue = open();
    expect(await queue.send(mail)).toBe('queued');
    seen.add((await findOnlyMail())._id);
    queue.start();
    await statusIs('sent');
    expect(attempts).toBe(4);
    expect(messageIds()).toEqual([`<${[...seen][0]}@platform.example>`]);
    expect(await findOnlyMail()).toMatchObject({ attempts: 4, sealedContent: null });
  });

  it('does not retry a mail after a reply of 5xx', async () => {
    let attempts = 0;
    server.onRecipient = () => {
      attempts += 1;
      return 550;
    };
    const queue = open();
    expect(await queue.send(mail)).toBe('failed');
    expect(await findOnlyMail()).toMatchObject({ status: 'failed', reason: 'refused', sealedContent: null });
    server.onRecipient = () => null;
    queue.start();
    expect(await queue.send({ ...mail, to: 'ben@fleet.example' })).toBe('sent');
    expect([attempts, server.received.length]).toEqual([1, 1]);
  });

  it('sends queued mails once the mail server is reachable, also after a restart of the process', async () => {
    const { port } = server;
    await server.close();
    const before = open(smtp(port));
    expect(await before.send(mail)).toBe('queued');
    expect(await findOnlyMail()).toMatchObject({ reason: 'connection_failed' });
    await before.stop();
    server = await MailServer.open({}, port);
    open(smtp(port)).start();
    await statusIs('sent');
    expect(server.received).toHaveLength(1);
  });

  it('does not retry a mail that the server may have', async () => {
    server.isCutAfterContent = true;
    const queue = open();
    expect(await queue.send(mail)).toBe('failed');
    expect(await findOnlyMail()).toMatchObject({ status: 'failed', reason: 'outcome_unknown' });
    expect(server.received).toHaveLength(1);
  });

  it.each<[string, Date | null, StoredMail['status'], number]>([
    ['before handing the mail over is retried', null, 'sent', 1],
    ['after starting to hand the mail over is not repeated', new Date(), 'failed', 0],
  ])('an attempt of a process that crashed %s', async (_case, handedOverAt, status, count) => {
    server.onContent = () => 451;
    const queue = open();
    await queue.send(mail);
    server.onContent = () => null;
    const died = {
      status: 'sending' as const,
      attempt: 'of a crashed process',
      attemptUntil: new Date(Date.now() - 1),
    };
    await stored().updateMany({}, { $set: { ...died, handedOverAt } });
    queue.start();
    await statusIs(status);
    expect(server.received).toHaveLength(count);
  });

  it('does not touch an attempt that is running on another replica', async () => {
    server.onContent = () => 451;
    const queue = open();
    await queue.send(mail);
    const running = { status: 'sending' as const, attempt: 'elsewhere', attemptUntil: new Date(Date.now() + 60_000) };
    await stored().updateMany({}, { $set: running });
    server.onContent = () => null;
    queue.start();
    expect(await queue.send({ ...mail, to: 'ben@fleet.example' })).toBe('sent');
    expect(server.received).toMatchObject([{ to: ['ben@fleet.example'] }]);
  });

  it('sends each mail once when several replicas share the queue', async () => {
    server.onContent = () => 451;
    const first = open();
    const addresses = Array.from({ length: 20 }, (_each, at) => `user-${at}@fleet.example`);
    for (const to of addresses) await first.send({ ...mail, to });
    server.onContent = () => null;
    for (const queue of [first, open(), open()]) queue.start();
    await waitFor(async () => (await stored().countDocuments({ status: 'sent' })) === addresses.length);
    expect(server.received.flatMap(({ to }) => to).toSorted((a, b) => a.localeCompare(b))).toEqual(
      addresses.toSorted((a, b) => a.localeCompare(b)),
    );
  });

  it('does not wait long for a slow mail server', async () => {
    let finish: (() => void) | undefined;
    const slow = {
      send: () =>
        new Promise<void>((resolve) => {
          finish = resolve;
        }),
    };
    const queue = open(slow, { sendTimeoutMs: 10 });
    expect(await queue.send(mail)).toBe('queued');
    // On a busy machine the time-out is over before the mail server is called.
    (await waitFor(() => finish, 'the mail server to be called'))();
    await statusIs('sent');
  });

  it('ends expired mails, and cancels mails that are no longer true', async () => {
    server.onContent = () => 451;
    const queue = open();
    await queue.send(mail);
    await stored().updateMany({}, { $set: { expiresAt: new Date() } });
    queue.start();
    await statusIs('failed');
    expect(await findOnlyMail()).toMatchObject({ reason: 'expired', sealedContent: null });
    await queue.send({ ...mail, userId: 8, lifetimeMs: 3_600_000 });
    await waitFor(async () => (await stored().countDocuments({ userId: 8, status: 'queued' })) === 1);
    await queue.stop();
    await queue.cancel(8);
    expect(await stored().countDocuments({ userId: 8 })).toBe(0);
  });

  it('removes mails that ended more than a week ago', async () => {
    const queue = open();
    await queue.send(mail);
    await removeOldMails({ database }, Date.now() + 6 * 86_400_000);
    expect(await stored().countDocuments({})).toBe(1);
    await removeOldMails({ database }, Date.now() + 8 * 86_400_000);
    expect(await stored().countDocuments({})).toBe(0);
  });

  it('returns not_configured and stores nothing without a provider', async () => {
    const queue = open(createMessageSender(loadConfig({}), log));
    expect(await queue.send(mail)).toBe('not_configured');
    expect(await stored().countDocuments({})).toBe(0);
  });

  it('posts to an HTTP provider with the id of the mail, which is the same in every attempt', async () => {
    const fake = await FakeProvider.open();
    try {
      fake.reply = () => ({ status: fake.received.length <= 2 ? 503 : 202 });
      const queue = open(createMessageSender(loadConfig({ MAIL_URL: fake.url }), log));
      expect(await queue.send(mail)).toBe('queued');
      queue.start();
      await statusIs('sent');
      const { _id: id } = await findOnlyMail();
      expect(fake.received.map(({ headers }) => headers['idempotency-key'])).toEqual([id, id, id]);
      const { to, subject, text } = mail;
      expect(JSON.parse(fake.received.at(-1)?.body ?? '')).toEqual({ to, subject, text });
    } finally {
      await fake.close();
    }
  });
});
