import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { ServiceReplica } from './testing/service-replica.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(180_000);

let harness: DedicatedHarness;
let replica: ServiceReplica;
beforeAll(async () => {
  harness = await leaseHarness();
  replica = await ServiceReplica.start(harness, 'platform-api');
}, 240_000);
afterAll(async () => {
  await replica?.stop();
  await harness?.stop();
}, 90_000);

const launched = (): string => harness.product.runtime.base_url;
const other = (): string => replica.url;

/** Sends a request to a replica as a page of the dashboard does, and returns the status and the new cookie. */
async function post(url: string, path: string, cookie: string, body: object = {}) {
  const origin = new URL(launched()).origin;
  const headers = { 'content-type': 'application/json', origin, cookie };
  const response = await fetch(`${url}/api/auth/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
  const { data } = (await response.json()) as { data?: { access_token?: string } };
  const next = response.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
  return { status: response.status, cookie: next, accessToken: data?.access_token };
}

async function logIn(): Promise<string> {
  const { email: identifier, password } = harness.product.runtime.demo;
  const { cookie } = await post(launched(), 'login', '', { identifier, password, session: 'cookie' });
  return cookie;
}

const refresh = (url: string, cookie: string) => post(url, 'refresh', cookie);

/** Returns the status of a request with an access token. */
const readStatus = async (url: string, token: string | undefined): Promise<number> =>
  (await fetch(`${url}/api/auth/me`, { headers: { authorization: `Bearer ${token ?? ''}` } })).status;

/**
 * Moves the end of the 30 seconds of a session into the past, which is stored with its spent token. Returns how many
 * seconds were left.
 */
async function expireSpentToken(cookie: string): Promise<number> {
  const database = await MongoClient.connect(harness.product.runtime.backends.mongodb_url);
  try {
    const id = Number(/=rt_(\d+)\./.exec(cookie)?.[1]);
    const past = { $set: { 'spent.until': new Date(Date.now() - 1) } };
    const sessions = database.db().collection<{ _id: number; spent?: { until: Date } }>('sessions');
    const before = await sessions.findOneAndUpdate({ _id: id }, past);
    if (before?.spent === undefined) throw new Error(`session ${id} has no spent token`);
    return (before.spent.until.getTime() - Date.now()) / 1_000;
  } finally {
    await database.close();
  }
}

describe.each([
  ['one replica', launched],
  ['two replicas', other],
])('the spent cookie of a session, over %s of platform-api', (_name, second) => {
  it('returns the same next token within 30 seconds, and the session stays open', async () => {
    const spent = await logIn();
    const first = await refresh(launched(), spent);
    const repeated = await refresh(second(), spent);
    expect([first.status, repeated.status]).toEqual([200, 200]);
    expect(first.cookie).toMatch(/=rt_/);
    expect(first.cookie).not.toBe(spent);
    expect(repeated.cookie).toBe(first.cookie);
    for (const { accessToken } of [first, repeated])
      expect([await readStatus(launched(), accessToken), await readStatus(second(), accessToken)]).toEqual([200, 200]);
    expect((await refresh(second(), first.cookie)).status).toBe(200);
  });

  it('returns the same next token to requests at the same time', async () => {
    const spent = await logIn();
    const responses = await Promise.all([launched(), second(), launched(), second()].map((url) => refresh(url, spent)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(responses.map(({ cookie }) => cookie)).size).toBe(1);
  });

  it('ends the session after 30 seconds', async () => {
    const spent = await logIn();
    const next = await refresh(launched(), spent);
    const secondsLeft = await expireSpentToken(spent);
    expect(secondsLeft).toBeGreaterThan(0);
    expect(secondsLeft).toBeLessThanOrEqual(30);
    expect((await refresh(second(), spent)).status).toBe(401);
    expect((await refresh(launched(), next.cookie)).status).toBe(401);
  });
});
