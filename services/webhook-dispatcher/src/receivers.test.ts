import type { Socket } from 'node:net';
import { createServer, type Server } from 'node:net';
import { request, webhookRequests } from '@fleet/bus';
import { freePort, selfSigned, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from './testing/harness.ts';
import { respondWith, TestReceiver } from './testing/test-receiver.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let harness: DispatcherHarness;
const receivers: { stop(): Promise<void> }[] = [];
/** Addresses of names, in the order of the lookups; the last one remains. */
const names = new Map<string, string[]>();
beforeAll(async () => {
  harness = await DispatcherHarness.open();
  const resolve = async (host: string) => {
    const addresses = names.get(host) ?? [];
    const address = addresses.length > 1 ? addresses.shift() : addresses[0];
    return address === undefined ? [] : [{ address, family: 4 as const }];
  };
  const limits = { WEBHOOK_ATTEMPT_TIMEOUT_MS: '2000', WEBHOOK_CONNECT_TIMEOUT_MS: '1200' };
  await harness.startDispatcher({ ...limits, WEBHOOK_RETRY_WAITS_MS: '40,60' }, { resolve });
});
afterEach(async () => {
  await Promise.all(receivers.splice(0).map((each) => each.stop()));
});
afterAll(() => harness.close());

async function receive(...given: Parameters<typeof TestReceiver.start>): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(...given);
  receivers.push(receiver);
  return receiver;
}

/** A listener without TLS. */
async function listening(onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onConnection(socket);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  receivers.push({
    stop: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  });
  return port;
}

/** Returns the attempts of one delivery to an address, once it has failed. */
async function failedAttempts(url: string) {
  const webhook = await harness.createWebhook(url);
  await harness.publishNotification(webhook.userId);
  await harness.waitForStatuses(webhook, 1, ['failed']);
  const { attempts, attemptCount } = await harness.findDelivery(webhook);
  expect(attemptCount).toBe(3);
  expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3]);
  await waitFor(async () => (await harness.findHealth(webhook)).consecutiveFailures === 3);
  expect(await harness.findHealth(webhook)).toMatchObject({ failingSince: expect.any(Date), disabledReason: null });
  return attempts;
}

const getOutcomes = (attempts: readonly { statusCode: number | null; errorCode: string | null }[]) =>
  new Set(attempts.map(({ statusCode, errorCode }) => `${statusCode} ${errorCode}`));

describe('an attempt fails', () => {
  it.each<[string, number, Record<string, string>]>([
    ['a redirect, which is not followed', 302, { location: 'https://169.254.169.254/latest/meta-data' }],
    ['another redirect', 307, { location: 'https://127.0.0.1/' }],
    ['404', 404, {}],
    ['413, though the next attempt is no smaller', 413, {}],
    ['415', 415, {}],
    ['500', 500, {}],
  ])('by %s', async (_name, status, headers) => {
    const receiver = await receive(respondWith(status, headers, 'body'));
    expect(getOutcomes(await failedAttempts(receiver.url()))).toEqual(new Set([`${status} null`]));
    expect(receiver.received).toHaveLength(3);
    expect(receiver.ids.size).toBe(1);
  });

  it('without a listener', async () => {
    const url = `https://127.0.0.1:${await freePort()}/`;
    expect(getOutcomes(await failedAttempts(url))).toEqual(new Set(['null connection_refused']));
  });

  it('for a certificate of an unknown authority', async () => {
    const receiver = await receive(respondWith(200), selfSigned());
    expect(getOutcomes(await failedAttempts(receiver.url()))).toEqual(new Set(['null tls_error']));
    expect(receiver.received).toHaveLength(0);
  });

  it('for a certificate of another name', async () => {
    names.set('hooks.fleet.example', ['127.0.0.1']);
    const receiver = await receive();
    const url = `https://hooks.fleet.example:${receiver.port}/`;
    expect(getOutcomes(await failedAttempts(url))).toEqual(new Set(['null tls_error']));
    expect(receiver.received).toHaveLength(0);
  });

  it('for a server without TLS', async () => {
    const port = await listening((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
    expect(getOutcomes(await failedAttempts(`https://127.0.0.1:${port}/`))).toEqual(new Set(['null tls_error']));
  });

  it('for a server that accepts the connection and sends nothing', async () => {
    const port = await listening(() => undefined);
    expect(getOutcomes(await failedAttempts(`https://127.0.0.1:${port}/`))).toEqual(new Set(['null connect_timeout']));
  });

  it('for a response that takes too long, before or after its start', async () => {
    const silent = await receive(() => undefined);
    expect(getOutcomes(await failedAttempts(silent.url()))).toEqual(new Set(['null timeout']));
    const started = await receive((response) => void response.writeHead(200).write('x'));
    expect(getOutcomes(await failedAttempts(started.url()))).toEqual(new Set(['200 timeout']));
  });

  it('for a connection that is destroyed, before or during the response', async () => {
    const before = await receive((response) => response.socket?.destroy());
    expect(getOutcomes(await failedAttempts(before.url()))).toEqual(new Set(['null connection_reset']));
    const within = await receive((response) => {
      response.writeHead(200, { 'content-length': '100' }).write('half');
      setTimeout(() => response.socket?.destroy(), 20);
    });
    const attempts = await failedAttempts(within.url());
    expect(getOutcomes(attempts)).toEqual(new Set(['200 connection_reset']));
    expect(attempts[0]?.responseBody).toBe('half');
  });

  it('for a name without addresses, or with a private one', async () => {
    expect(getOutcomes(await failedAttempts('https://nowhere.fleet.example/'))).toEqual(new Set(['null dns_error']));
    names.set('inside.fleet.example', ['169.254.169.254']);
    expect(getOutcomes(await failedAttempts('https://inside.fleet.example/'))).toEqual(
      new Set(['null blocked_address']),
    );
    for (const url of ['https://10.0.0.1/', 'https://[::1]/', 'https://127.0.0.1:22/'])
      expect(getOutcomes(await failedAttempts(url))).toEqual(new Set(['null blocked_address']));
  });
});

describe('a response', () => {
  it('is successful for any 2xx, and reads a huge response up to a limit', async () => {
    let sent = 0;
    const huge = Buffer.alloc(16_384, 'a');
    const receiver = await receive((response) => {
      const write = (): void => {
        while (sent < 100_000_000 && !response.destroyed) {
          sent += huge.length;
          if (!response.write(huge)) break;
        }
      };
      response.writeHead(202).on('drain', write);
      write();
    });
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1);
    const [attempt] = (await harness.findDelivery(webhook)).attempts;
    expect(attempt).toMatchObject({ statusCode: 202, errorCode: null, responseBody: 'a'.repeat(4_096) });
    await waitFor(() => receiver.openRequests === 0);
    expect(sent).toBeLessThan(20_000_000);
  });

  it('reports a huge response that is no success', async () => {
    const receiver = await receive((response) => void response.writeHead(500).end(Buffer.alloc(70_000, 'a')));
    expect(getOutcomes(await failedAttempts(receiver.url()))).toEqual(new Set(['500 response_too_large']));
  });

  it('waits after 429 and 503 as requested', async () => {
    // Seconds, or a date without fractions.
    const waits = [() => '1', () => new Date(Date.now() + 2_000).toUTCString()];
    for (const [status, retryAfter] of [429, 503].flatMap((each) => waits.map((wait) => [each, wait] as const))) {
      const receiver = await receive((response, received, count) =>
        respondWith(count === 1 ? status : 200, { 'retry-after': retryAfter() })(response, received, count),
      );
      const webhook = await harness.createWebhook(receiver.url());
      await harness.publishNotification(webhook.userId);
      await harness.waitForStatuses(webhook, 1);
      const [first, second] = receiver.received;
      expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(1_000);
      const { attempts } = await harness.findDelivery(webhook);
      expect(attempts.map(({ statusCode }) => statusCode)).toEqual([status, 200]);
    }
  });

  it('disables the webhook immediately after 410; later notifications are stored', async () => {
    const receiver = await receive(respondWith(410));
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1, ['failed']);
    await waitFor(async () => (await harness.findHealth(webhook)).disabledReason === 'gone');
    expect(receiver.received).toHaveLength(1);
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 2, ['failed', 'skipped']);
    expect(receiver.received).toHaveLength(1);
    // Enabled again, it has no failures.
    receiver.respond = respondWith(200);
    await harness.updateWebhook(webhook, { healthEpoch: 1 });
    const third = await harness.publishNotification(webhook.userId);
    await waitFor(() => receiver.received.some(({ notificationId }) => notificationId === third));
  });
});

describe('a failed delivery', () => {
  it('gets all attempts of a new one when it is replayed, and continues to count them', async () => {
    const receiver = await receive(respondWith(500));
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1, ['failed']);
    const replay = { webhookId: webhook._id, sinceMs: 0, untilMs: null, statuses: ['failed' as const] };
    expect(await request(harness.bus, webhookRequests.replay, replay, { timeoutMs: 10_000 })).toEqual({ queued: 1 });
    await waitFor(async () => (await harness.findDelivery(webhook)).attemptCount === 6);
    await harness.waitForStatuses(webhook, 1, ['failed']);
    const { attempts, attemptCount } = await harness.findDelivery(webhook);
    expect(attemptCount).toBe(6);
    expect(attempts.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(attempts[3]).toMatchObject({ trigger: 'replay' });
  });
});

describe('a name', () => {
  it('with another address at the next attempt is checked again, despite an open connection', async () => {
    const receiver = await receive();
    // 127.0.0.1 is allowed here, the metadata network never; the certificate has the name localhost.
    names.set('localhost', ['127.0.0.1', '127.0.0.1', '169.254.169.254']);
    const webhook = await harness.createWebhook(`https://localhost:${receiver.port}/`);
    for (let i = 1; i <= 2; i += 1) {
      await harness.publishNotification(webhook.userId);
      await harness.waitForStatuses(webhook, i);
    }
    // The second one used the connection of the first.
    expect(receiver.connections).toBe(1);
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 3, ['succeeded', 'failed']);
    const failed = (await harness.findDeliveries(webhook)).find(({ status }) => status === 'failed');
    expect(getOutcomes(failed?.attempts ?? [])).toEqual(new Set(['null blocked_address']));
    expect(receiver.received).toHaveLength(2);
  });

  it('is resolved once for an attempt: the connection uses the checked address', async () => {
    const receiver = await receive();
    // A second lookup for the connection would return the second address.
    names.set('localhost', ['127.0.0.1', '127.0.0.99']);
    const webhook = await harness.createWebhook(`https://localhost:${receiver.port}/`);
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1);
    expect(receiver.received[0]?.headers.host).toBe(`localhost:${receiver.port}`);
  });
});

describe('a pooled connection', () => {
  it('that the receiver closed costs no attempt', async () => {
    const receiver = await receive((response) => {
      response.end();
      // After the response, like a restarting server.
      setTimeout(() => response.socket?.destroy(), 5);
    });
    const webhook = await harness.createWebhook(receiver.url());
    for (let i = 1; i <= 5; i += 1) {
      await harness.publishNotification(webhook.userId);
      await harness.waitForStatuses(webhook, i);
    }
    expect((await harness.findDeliveries(webhook)).map(({ attemptCount }) => attemptCount)).toEqual([1, 1, 1, 1, 1]);
  });
});
