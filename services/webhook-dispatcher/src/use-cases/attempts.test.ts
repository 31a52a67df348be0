import { randomBytes } from 'node:crypto';
import { Encryption } from '@fleet/service-kit';
import { type Database, openDatabase, WebhookRepository } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createDispatcherMetrics } from '../metrics.ts';
import { EndpointBulkheads } from '../net/endpoint-bulkhead.ts';
import { type AttemptDeps, Attempts } from './attempts.ts';

const webhookId = 4;
const attempt = {
  number: 1,
  trigger: 'schedule',
  startedAtMs: 0,
  durationMs: 1,
  statusCode: 200,
  errorCode: null,
  responseBody: '',
} as const;

let database: Database;
let records: WebhookRepository;
let bulkheads: EndpointBulkheads;
let deps: AttemptDeps;
let attempts: Attempts;
let notificationId = 0;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/attempts_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'attempts-test' });
  records = new WebhookRepository(database);
});
afterAll(async () => {
  bulkheads.close();
  await database.db.dropDatabase();
  await database.close();
});
beforeEach(() => {
  bulkheads = new EndpointBulkheads({
    concurrency: 20,
    breakerOpenMs: 60_000,
    trust: undefined,
    onFree: () => undefined,
  });
  const never = {} as Pick<AttemptDeps, 'subscribers' | 'health'>;
  deps = {
    ...never,
    records,
    bulkheads: bulkheads,
    send: {
      guard: {} as AttemptDeps['send']['guard'],
      encryption: new Encryption('a-key-of-the-test-that-is-long-enough'),
      connectTimeoutMs: 1,
      attemptTimeoutMs: 1,
    },
    plan: { waitsMs: [1], overloadWaitMs: 1 },
    metrics: createDispatcherMetrics(),
    onAttempt: () => undefined,
    onError: (error) => {
      throw error;
    },
  };
  attempts = new Attempts(deps);
});

async function delivery(): Promise<string> {
  notificationId += 1;
  return records.deliveries.add({
    webhookId,
    accountId: 1,
    userId: 2,
    notificationId,
    notificationType: 'sos',
    imei: '013800138000',
    imeiKey: '13800138000',
    vehicleId: 5,
    body: '{}',
    status: 'pending',
  });
}

async function found(id: string) {
  const stored = await records.deliveries.find(id);
  if (stored === null) throw new Error('the delivery does not exist');
  return stored;
}

describe('a first attempt of a paused webhook', () => {
  beforeEach(async () => {
    const bulkhead = bulkheads.get(webhookId);
    for (let count = 1; count <= 10; count += 1) await bulkhead.execute(async () => false);
    expect(bulkhead.blockedUntilMs).not.toBeNull();
  });

  it('defers a first attempt until the webhook is no longer paused', async () => {
    const id = await delivery();
    await attempts.runFirst(id, webhookId);
    expect((await found(id)).nextAttemptAtMs).toBe(bulkheads.get(webhookId).blockedUntilMs);
  });

  it('is skipped if the delivery has ended and its message is redelivered after a crash', async () => {
    const id = await delivery();
    await records.deliveries.recordAttempt(await found(id), {
      status: 'succeeded',
      attempt,
      request: null,
      nextAttemptAtMs: null,
    });
    const before = await found(id);
    await attempts.runFirst(id, webhookId);
    expect(await found(id)).toEqual(before);
    expect(await records.schedule.findDue([], 10, Number.MAX_SAFE_INTEGER)).not.toContainEqual(
      expect.objectContaining({ _id: id }),
    );
  });

  it('is not made before the scheduled time of the next one', async () => {
    const id = await delivery();
    const nextAttemptAtMs = Date.now() + 3_600_000;
    const outcome = {
      status: 'pending',
      attempt: { ...attempt, statusCode: 500 },
      request: null,
      nextAttemptAtMs,
    } as const;
    await records.deliveries.recordAttempt(await found(id), outcome);
    await attempts.runFirst(id, webhookId);
    expect((await found(id)).nextAttemptAtMs).toBe(nextAttemptAtMs);
  });
});

it('an attempt that fails internally is reported, also if it cannot be scheduled again', async () => {
  const errors: unknown[] = [];
  const broken = {
    deliveries: {
      claim: async () => true,
      release: async () => undefined,
      find: async () => Promise.reject(new Error('the fault')),
    },
    schedule: { set: async () => Promise.reject(new Error('what follows')) },
  } as unknown as WebhookRepository;
  const failing = new Attempts({ ...deps, records: broken, onError: (error) => errors.push(error) });
  // Its message is redelivered.
  await expect(failing.runFirst('of-no-matter', webhookId)).rejects.toThrow('what follows');
  expect(errors).toEqual([new Error('the fault')]);
});
