import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness } from '../testing/live-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
beforeAll(async () => {
  live = await LiveHarness.open();
});
afterEach(() => live.hangUp());
afterAll(() => live.close());

const elsewhere = ['203.0.113.0/24'];
const here = ['127.0.0.0/8', '::1'];

/** A key of the owner's account, with helpers. */
async function newKey(addresses: readonly string[] = []) {
  const body = { name: 'with addresses', ip_allowlist: addresses, can_mint_tokens: true };
  const { status, data } = await live.owner.post('/api/api-keys', body);
  expect(status).toBe(201);
  return { id: data.id, key: String(data['key']) };
}

const tokenFor = async (headers: Record<string, string>): Promise<string> => {
  const { status, body } = await live.harness.with(headers).get('/api/user/generate-websocket-token');
  expect(status).toBe(200);
  return (body as { token: string }).token;
};

/** Uses the token of the owner's session, and the key. */
const withSession = (key: string) =>
  tokenFor({ 'x-api-key': key, authorization: `Bearer ${live.harness.ours.owner.token}` });

/** Uses a token created by the key, and the key. */
async function minted(key: string): Promise<string> {
  const { status, data } = await live.harness
    .with({ 'x-api-key': key })
    .post('/api/auth/api-token', { user_id: live.harness.ours.owner.id });
  expect(status).toBe(200);
  return tokenFor({ 'x-api-key': key, authorization: `Bearer ${String(data['access_token'])}` });
}

/** Changes the database directly, without an event. */
const allowOnly = async (id: number, ipAllowlist: readonly string[]): Promise<void> => {
  await live.harness.records.collection('api_keys').updateOne({ _id: id }, { $set: { ipAllowlist } });
};

const isOpen = (client: LiveClient): boolean => client.closed === undefined;

async function ping(client: LiveClient): Promise<void> {
  const responses = client.of('pong').length;
  client.send({ type: 'ping' });
  await client.next('pong', responses + 1);
}

describe('the addresses of an API key', () => {
  it.each([
    ['a session', withSession],
    ['a token that it has minted', minted],
  ])(
    'close a connection by %s when its address is removed, on each replica, and no other one',
    async (_by, tokenOf) => {
      const [first, second] = [await newKey(here), await newKey()];
      const [token, other] = [await tokenOf(first.key), await tokenOf(second.key)];
      const clients = [await live.ready(`?token=${token}`), await live.ready(`?token=${token}`, live.replicaBase)];
      const bystander = await live.ready(`?token=${other}`);
      await allowOnly(first.id, elsewhere);
      await Promise.all(clients.map((client) => client.until(() => client.closed !== undefined)));
      expect(clients.map(({ closed }) => closed?.code)).toEqual([4403, 4403]);
      // It cannot be opened again; once the address is back, the same token works again.
      const again = await live.connect(`?token=${token}`);
      await again.until(() => again.closed !== undefined);
      expect(again.closed).toMatchObject({ code: 4401 });
      expect(again.messages).toEqual([]);
      await allowOnly(first.id, here);
      await live.ready(`?token=${token}`);
      expect(isOpen(bystander)).toBe(true);
    },
  );

  it('may change while the address of the connection remains', async () => {
    const { id, key } = await newKey();
    const client = await live.ready(`?token=${await withSession(key)}`);
    await allowOnly(id, [...here, ...elsewhere]);
    const probe = await newKey();
    const ending = await live.ready(`?token=${await withSession(probe.key)}`);
    // Both are checked in the same interval, or the second in a later one.
    await allowOnly(probe.id, elsewhere);
    await ending.until(() => ending.closed !== undefined);
    await ping(client);
    expect(isOpen(client)).toBe(true);
  });

  it('apply to the client behind a trusted proxy', async () => {
    const { id, key } = await newKey();
    const token = await withSession(key);
    await allowOnly(id, elsewhere);
    const refused = await live.connect(`?token=${token}`);
    await refused.until(() => refused.closed !== undefined);
    expect(refused.closed).toMatchObject({ code: 4401 });
    const client = await live.connect(`?token=${token}`, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    await client.next('hello');
    await allowOnly(id, here);
    await client.until(() => client.closed !== undefined);
    expect(client.closed).toMatchObject({ code: 4403 });
  });

  it('reject one connection and do not affect another one, opened concurrently', async () => {
    for (let round = 0; round < 3; round += 1) {
      const { id, key } = await newKey();
      const query = `?token=${await withSession(key)}`;
      await allowOnly(id, elsewhere);
      const allowed = { headers: { 'x-forwarded-for': '203.0.113.9' } };
      const [refused, client] = await Promise.all([
        live.connect(query),
        live.connect(query, allowed),
        live.connect(query),
      ]);
      await refused.until(() => refused.closed !== undefined);
      expect(refused.closed).toMatchObject({ code: 4401 });
      await client.next('hello');
      expect((await live.owner.delete(`/api/api-keys/${id}`)).status).toBe(200);
      await client.until(() => client.closed !== undefined);
      expect(client.closed).toMatchObject({ code: 4403 });
    }
  });
});

describe('a key whose revocation was missed', () => {
  it('closes its connections all the same', async () => {
    const { id, key } = await newKey();
    const client = await live.ready(`?token=${await withSession(key)}`);
    await live.harness.records.collection('api_keys').updateOne({ _id: id }, { $set: { revokedAt: new Date() } });
    await client.until(() => client.closed !== undefined);
    expect(client.closed).toMatchObject({ code: 4403 });
  });
});
