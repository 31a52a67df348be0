import { createLogger } from '@fleet/service-kit';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../assembly/config.ts';
import { createMessageSender } from '../providers/message-sender.ts';
import { FakeProvider } from '../testing/fake-provider.ts';
import { type GuardedSender, guardMessageSender } from './guard-message-sender.ts';

let fake: FakeProvider;
let mails: GuardedSender;
beforeEach(async () => {
  fake = await FakeProvider.open();
  const log = createLogger('mails-test', 'silent');
  const messages = createMessageSender(loadConfig({ MAIL_URL: fake.url }), log);
  mails = guardMessageSender('mail', messages, { requestsToOpen: 4, resetTimeoutMs: 60_000 });
});
afterEach(async () => {
  jest.useRealTimers();
  mails.stop();
  await fake.close();
});

const mailTo = (to: string) => mails.send({ kind: 'mail', to, subject: 'SOS', text: 'AB12: SOS' });

it('a rejected mail is not retried and does not delay others', async () => {
  fake.reply = ({ body }) => ({ status: body.includes('no-address') ? 422 : 202 });
  for (let count = 1; count <= 20; count += 1)
    await expect(mailTo('no-address')).rejects.toMatchObject({ name: 'PermanentSendError' });
  await expect(mailTo('ann@example.com')).resolves.toBeUndefined();
});

it('an unavailable provider, or one that rejects the key, is paused, and mails wait', async () => {
  for (const status of [500, 401, 429, 404]) {
    fake.reply = () => ({ status });
    await expect(mailTo('ann@example.com')).rejects.toMatchObject({ name: 'TransientSendError', retryAfterMs: null });
  }
  await expect(mailTo('ann@example.com')).rejects.toMatchObject({ name: 'TransientSendError', retryAfterMs: 60_000 });
  expect(fake.received).toHaveLength(4);
});

it('one mail tests an unavailable provider, and concurrent ones do not count', async () => {
  jest.useFakeTimers();
  let reply = (): Promise<void> => Promise.reject(new Error('away'));
  const waiting = guardMessageSender('mail', { send: () => reply() }, { requestsToOpen: 4, resetTimeoutMs: 30_000 });
  const send = () => waiting.send({ kind: 'mail', to: 'ann@example.com', text: 'AB12: SOS' });
  const circuitOpen = { name: 'TransientSendError', retryAfterMs: 30_000 };
  for (let count = 1; count <= 4; count += 1) await expect(send()).rejects.toMatchObject({ retryAfterMs: null });
  jest.advanceTimersByTime(30_000);
  let taken: () => void = () => undefined;
  const away = reply;
  reply = () =>
    new Promise((resolve) => {
      taken = resolve;
    });
  const first = send();
  for (let count = 1; count <= 100; count += 1) await expect(send()).rejects.toMatchObject(circuitOpen);
  taken();
  await first;
  reply = away;
  await expect(send()).rejects.toMatchObject({ retryAfterMs: null });
  await expect(send()).rejects.toMatchObject(circuitOpen);
  waiting.stop();
});

it('a provider that recovers only briefly is paused again, however many mails waited', async () => {
  jest.useFakeTimers();
  let isAway = true;
  const messages = { send: async () => (isAway ? Promise.reject(new Error('away')) : undefined) };
  const waiting = guardMessageSender('mail', messages, { requestsToOpen: 4, resetTimeoutMs: 30_000 });
  const send = () => waiting.send({ kind: 'mail', to: 'ann@example.com', text: 'AB12: SOS' });
  const circuitOpen = { name: 'TransientSendError', retryAfterMs: 30_000 };
  for (let count = 1; count <= 4; count += 1) await expect(send()).rejects.toMatchObject({ retryAfterMs: null });
  for (let count = 1; count <= 100; count += 1) await expect(send()).rejects.toMatchObject(circuitOpen);
  jest.advanceTimersByTime(30_000);
  isAway = false;
  await send();
  isAway = true;
  await expect(send()).rejects.toMatchObject({ retryAfterMs: null });
  await expect(send()).rejects.toMatchObject(circuitOpen);
  waiting.stop();
});
