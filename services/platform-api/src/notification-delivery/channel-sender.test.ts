import { randomBytes } from 'node:crypto';
import { encodeJson, type NotificationRaised, RetryLater } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { GlobalConfig } from '../domains/preferences/schema.ts';
import { ChannelSender } from './channel-sender.ts';
import type { MessageTarget } from './channels.ts';
import { TransientSendError } from './provider-client.ts';
import type { Recipient } from './recipient-resolver.ts';

let database: Database;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/senders_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'senders-test' });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const config = { push: { enabled: true, notification_types: ['sos'] } } as unknown as GlobalConfig;
const recipient = {
  user: { _id: 2, accountId: 1, role: 'owner' },
  vehiclePreference: { notificationTypes: ['sos'], channels: ['push'], isDefault: false },
  preferences: { values: {}, explicit: {} },
} as unknown as Recipient;
let notificationId = 0;

/** Sends a notification; each target is one device. */
function deliver(sends: readonly MessageTarget['send'][]): Promise<void> {
  notificationId += 1;
  const raised: NotificationRaised = {
    accountId: 1,
    ownerUserId: 2,
    wantedByOwner: true,
    notification: {
      id: notificationId,
      title: 'SOS',
      description: 'The driver pressed the emergency button.',
      notification_type: 'sos',
      imei: '013800138000',
      timestamp: Date.now(),
      server_timestamp: Date.now(),
      location: { latitude: 1, longitude: 2 },
      vehicle_id: 5,
      vehicle_no: 'AB12',
      severity: 'critical',
      attributes: {},
      backfilled: false,
    },
  };
  const targets = sends.map((send, at): MessageTarget => ({ key: String(at), send }));
  const sender = new ChannelSender(
    { database, log: createLogger('senders-test', 'silent') },
    { name: 'push', findTargets: async () => targets },
    { accountConfig: async () => config, findRecipients: async () => [recipient] },
    () => undefined,
  );
  return sender.handle({ data: encodeJson(raised), subject: 'notification.1.13800138000', deliveryCount: 1 });
}

it('a notification is redelivered only after all its messages have ended', async () => {
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let end: () => void = () => undefined;
  const ended = new Promise<'sent'>((resolve) => {
    end = () => resolve('sent');
  });
  const slow = (): Promise<'sent'> => {
    begin();
    return ended;
  };
  let isOver = false;
  const delivering = deliver([() => Promise.reject(new Error('the database is unavailable')), slow]).finally(() => {
    isOver = true;
  });
  delivering.catch(() => undefined);
  await begun;
  // Long enough for the fault of the first one to appear.
  await deliver([async () => 'sent']);
  expect(isOver).toBe(false);
  end();
  await expect(delivering).rejects.toThrow('the database is unavailable');
});

it('sends to all others if one recipient fails', async () => {
  const delivered: number[] = [];
  const devices = Array.from({ length: 40 }, (_unused, at) => async () => {
    if (at === 0) throw new Error('the database is unavailable');
    delivered.push(at);
    return 'sent' as const;
  });
  await expect(deliver(devices)).rejects.toThrow('the database is unavailable');
  expect(delivered).toHaveLength(39);
});

it('retries at the time that the provider requests, within an hour', async () => {
  const failing = (retryAfterMs: number | null) => () =>
    Promise.reject(new TransientSendError('busy', { retryAfterMs }));
  const delayOf = (sends: readonly MessageTarget['send'][]) =>
    deliver(sends).catch((error: unknown) => (error instanceof RetryLater ? error.delayMs : error));
  expect(await delayOf([failing(null)])).toBe(5_000);
  expect(await delayOf([failing(null), failing(60_000)])).toBe(60_000);
  // A broker rejects a delay above 64 bits of nanoseconds and would redeliver immediately.
  expect(await delayOf([failing(Date.parse('9999-12-31T00:00:00Z'))])).toBe(3_600_000);
});
