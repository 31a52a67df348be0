import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { writeLastLocation } from '../../testing/last-location.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { testPosition } from '../../testing/positions.ts';
import { defaultThresholds } from '../../testing/thresholds.ts';
import { deriveState, withStateChange } from './rules.ts';
import type { LastLocation } from './schema.ts';
import { readLastLocations } from './store.ts';
import { readWebsocketToken, websocketUrl } from './websocket-tokens.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let owner: Client;
let theirs: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  [owner, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness.close());

// Unique to this run, because all tests share one Redis.
const run = String(process.hrtime.bigint() % 100_000_000n).padStart(8, '0');
let made = 0;
const newImei = (): string => `1${run}${String((made += 1)).padStart(3, '0')}`;

async function newVehicle(client: Client, vehicleNo: string, imei: string | null): Promise<number> {
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: vehicleNo, imei });
  expect(status).toBe(201);
  return data.id;
}

describe('deriveState', () => {
  const now = 10_000_000;
  const at = (more: Partial<LastLocation>, thresholds = defaultThresholds) =>
    deriveState({ ...testPosition('1'), serverTimestamp: now, slowSinceMs: null, ...more }, now, thresholds);
  it.each([
    ['moving', { speed: 5 }],
    ['stopped', { speed: 4.9, ignition: false }],
    ['stopped', { speed: 0, ignition: null }],
    ['moving', { speed: 0, ignition: true, slowSinceMs: now - 59_999 }],
    ['idle', { speed: 0, ignition: true, slowSinceMs: now - 60_000 }],
    ['moving', { speed: 80, serverTimestamp: now - 600_000 }],
    ['offline', { speed: 80, serverTimestamp: now - 600_001 }],
    ['offline', { speed: 80, serverTimestamp: now - 900_000, heardAtMs: now - 600_001 }],
    ['stopped', { speed: 80, ignition: false, serverTimestamp: now - 600_001, heardAtMs: now }],
    ['stopped', { speed: 80, ignition: null, serverTimestamp: now - 600_001, heardAtMs: now }],
    ['idle', { speed: 80, ignition: true, serverTimestamp: now - 600_001, heardAtMs: now }],
    ['moving', { speed: 80, serverTimestamp: now - 600_000, heardAtMs: now }],
  ] as const)('returns %s for %j', (state, more) => expect(at(more)).toBe(state));
  it('uses the thresholds of the settings', () => {
    const thresholds = { movingFromKmh: 20, offlineAfterMs: 60_000 };
    expect(at({ speed: 19, ignition: false }, thresholds)).toBe('stopped');
    expect(at({ speed: 20 }, thresholds)).toBe('moving');
    expect(at({ speed: 20, serverTimestamp: now - 60_001 }, thresholds)).toBe('offline');
  });
  it('returns never_connected without a position', () =>
    expect(deriveState(null, now, defaultThresholds)).toBe('never_connected'));
});

describe('withStateChange', () => {
  const start = 10_000_000;
  const report = (atMs: number, more: Partial<LastLocation>): LastLocation => ({
    ...testPosition('1'),
    serverTimestamp: atMs,
    slowSinceMs: null,
    ignition: true,
    ...more,
  });
  const apply = (before: LastLocation | undefined, next: LastLocation): LastLocation =>
    withStateChange(before, next, next.serverTimestamp, defaultThresholds);

  it('keeps the time while the state stays, and begins again with another state', () => {
    const moving = apply(undefined, report(start, { speed: 50 }));
    const still = apply(moving, report(start + 60_000, { speed: 60 }));
    expect(still.stateChange).toEqual({ state: 'moving', atMs: start });
    const off = apply(still, report(start + 90_000, { speed: 0, ignition: false, slowSinceMs: start + 90_000 }));
    expect(off.stateChange).toEqual({ state: 'stopped', atMs: start + 90_000 });
    const on = apply(off, report(start + 500_000, { speed: 0, slowSinceMs: start + 90_000 }));
    expect(on.stateChange).toEqual({ state: 'idle', atMs: start + 500_000 });
  });

  it('counts idling from the moment at which the vehicle stopped', () => {
    const moving = apply(undefined, report(start, { speed: 50 }));
    const slow = apply(moving, report(start + 10_000, { speed: 0, slowSinceMs: start + 10_000 }));
    expect(slow.stateChange).toEqual({ state: 'moving', atMs: start });
    const idle = apply(slow, report(start + 80_000, { speed: 0, slowSinceMs: start + 10_000 }));
    expect(idle.stateChange).toEqual({ state: 'idle', atMs: start + 10_000 });
  });

  it('begins again after a time of silence', () => {
    const moving = apply(undefined, report(start, { speed: 50 }));
    const back = apply(moving, report(start + 3_600_000, { speed: 50 }));
    expect(back.stateChange).toEqual({ state: 'moving', atMs: start + 3_600_000 });
  });
});

describe('newest positions', () => {
  it('finds a position by the canonical number, in whatever form the terminal sends it', async () => {
    const imei = newImei();
    await writeLastLocation(harness.deps, testPosition(`00000000${imei}`, { speed: 7 }));
    const found = await readLastLocations(harness.deps, [imei, newImei()]);
    expect([...found.keys()]).toEqual([imei]);
    expect(found.get(imei)).toMatchObject({ imei: `00000000${imei}`, speed: 7 });
    await expect(writeLastLocation(harness.deps, testPosition('0000'))).rejects.toThrow(/terminal number/);
    expect(await readLastLocations(harness.deps, [])).toEqual(new Map());
  });
});

describe('GET /api/user/generate-websocket-token', () => {
  const keyOf = (token: string): string => `websocket-token:${createHash('sha256').update(token).digest('base64url')}`;

  it('returns a plain object with a token for five minutes to every role', async () => {
    const user = await harness.user('driver');
    const { status, body, headers } = await harness.as(user).get('/api/user/generate-websocket-token');
    expect(status).toBe(200);
    expect(body).toEqual({
      token: expect.stringMatching(/^wst_[\w-]{43}$/),
      expires_in: 300,
      ws_url: 'ws://127.0.0.1:8080/ws',
    });
    expect(headers.get('cache-control')).toBe('no-store');
    const { token } = body as { token: string };
    const { accountId, sessionId } = user;
    const scopes = expect.arrayContaining(['read', 'video']);
    const keyId = expect.any(Number);
    const holder = { accountId, userId: user.id, sessionId, mintedByKeyId: null, keyId, scopes };
    expect(await readWebsocketToken(harness.deps.redis, token)).toEqual(holder);
    // A token can be used several times until it expires.
    expect(await readWebsocketToken(harness.deps.redis, token)).toEqual(holder);
    expect(await readWebsocketToken(harness.deps.redis, `${token}x`)).toBeNull();
    // Redis stores only the hash of the token.
    expect(await harness.deps.redis.keys(`*${token}*`)).toEqual([]);
    const lifetime = await harness.deps.redis.ttl(keyOf(token));
    expect(lifetime).toBeGreaterThan(0);
    expect(lifetime).toBeLessThanOrEqual(300);
  });

  it('reads a token stored without scopes as one that has none', async () => {
    const holder = { accountId: 1, userId: 2, sessionId: 3, keyId: 4 };
    await harness.deps.redis.set(keyOf(run), JSON.stringify(holder), { expiration: { type: 'EX', value: 60 } });
    expect(await readWebsocketToken(harness.deps.redis, run)).toEqual({ ...holder, mintedByKeyId: null, scopes: [] });
  });

  it('requires an API key and a user token', async () => {
    const path = '/api/user/generate-websocket-token';
    expect((await harness.anonymous.get(path)).body).toMatchObject({ code: 'api_key_missing' });
    expect((await harness.with({ 'x-api-key': harness.ours.apiKey }).get(path)).body).toMatchObject({
      code: 'token_missing',
    });
  });

  it('derives the websocket URL from the public URL unless it is configured', () => {
    expect(websocketUrl({ PUBLIC_BASE_URL: 'https://fleet.example', WS_URL: undefined })).toBe(
      'wss://fleet.example/ws',
    );
    expect(websocketUrl({ PUBLIC_BASE_URL: 'https://fleet.example', WS_URL: 'wss://live.example' })).toBe(
      'wss://live.example',
    );
  });
});

describe('GET /api/rtt-tracking/get-imei-latest-location', () => {
  const path = '/api/rtt-tracking/get-imei-latest-location';
  const imeisIn = (body: unknown) => (body as { imei: string }[]).map(({ imei }) => imei);

  it('returns a plain array of visible vehicles that have reported, newest first', async () => {
    const [old, recent, silent, foreign] = [newImei(), newImei(), newImei(), newImei()];
    const id = await newVehicle(owner, 'RT 1', old);
    await newVehicle(owner, 'RT 2', recent);
    await newVehicle(owner, 'RT 3', silent);
    await newVehicle(theirs, 'RT 1', foreign);
    const now = Date.now();
    await writeLastLocation(harness.deps, testPosition(old, { timestamp: now - 5_000, serverTimestamp: now - 4_000 }));
    for (const imei of [recent, foreign]) await writeLastLocation(harness.deps, testPosition(imei, { timestamp: now }));
    const { status, body } = await owner.get(path);
    expect(status).toBe(200);
    expect(imeisIn(body)).toEqual([recent, old]);
    expect((body as unknown[])[1]).toEqual({
      imei: old,
      vehicle_id: id,
      latitude: 48.1,
      longitude: 11.5,
      altitude: 500,
      speed: 0,
      course: 90,
      gps_valid: true,
      satellites: 9,
      signal: null,
      ignition: false,
      odometer_km: 1.5,
      fuel_l: null,
      battery_percent: null,
      external_voltage: null,
      alarms: ['sos'],
      driver_id: null,
      address: null,
      state: 'stopped',
      state_since: null,
      source: 'jt808',
      backfilled: false,
      timestamp: now - 5_000,
      server_timestamp: now - 4_000,
    });
    expect(imeisIn((await owner.get(`${path}?updated_since=${now - 1_000}`)).body)).toEqual([recent]);
    expect(imeisIn((await owner.get(`${path}?imei=${old},${foreign},${silent}`)).body)).toEqual([old]);
    const long = `00000000${old}`;
    expect(imeisIn((await owner.get(`${path}?imei=${long}, ${recent}`)).body)).toEqual([recent, long]);
    expect(imeisIn((await theirs.get(path)).body)).toEqual([foreign]);
    expect((await harness.as(await harness.user('driver')).get(path)).body).toEqual([]);
  });

  it('looks up addresses only on request', async () => {
    const imei = newImei();
    await newVehicle(owner, 'RT 8', imei);
    await writeLastLocation(harness.deps, testPosition(imei, { latitude: 48.137, longitude: 11.575 }));
    expect((await owner.get(`${path}?imei=${imei}&address=false`)).body).toMatchObject([{ address: null }]);
    expect((await owner.get(`${path}?imei=${imei}&address=true`)).body).toMatchObject([
      { imei, address: expect.stringMatching(/\S/) },
    ]);
  });

  it('returns shared vehicles without their driver', async () => {
    const imei = newImei();
    const id = await newVehicle(owner, 'RT 9', imei);
    const driver = await owner.post('/api/drivers', { name: 'Ann', vehicle_ids: [id] });
    await writeLastLocation(harness.deps, testPosition(imei));
    const guest = await harness.user('viewer', harness.theirs);
    await owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [id] });
    expect((await owner.get(`${path}?imei=${imei}`)).body).toMatchObject([{ driver_id: driver.data.id }]);
    expect((await harness.as(guest).get(`${path}?imei=${imei}`)).body).toMatchObject([
      { vehicle_id: id, driver_id: null },
    ]);
  });

  it.each(['?imei=abc-def', '?imei=000000000000', `?imei=${Array.from({ length: 501 }, (_u, i) => i + 1).join()}`])(
    'rejects %.40s',
    async (query) => {
      expect((await owner.get(path + query)).body).toMatchObject({ status: 400, details: [{ path: '/imei' }] });
    },
  );

  it('rejects invalid times and flags', async () => {
    expect((await owner.get(`${path}?updated_since=yesterday`)).body).toMatchObject({ status: 400, code: 'bad_date' });
    expect((await owner.get(`${path}?address=perhaps`)).status).toBe(400);
  });
});

describe('GET /api/rtt-tracking/get-imei-based-on-vehicle-number', () => {
  const path = '/api/rtt-tracking/get-imei-based-on-vehicle-number';

  it('returns a plain array of vehicles by number, ignoring spaces and case', async () => {
    const [first, second] = [newImei(), newImei()];
    const a = await newVehicle(owner, 'KA 01 AB 1', first);
    const b = await newVehicle(owner, 'KA 01 AB 2', null);
    await newVehicle(theirs, 'KA 01 AB 1', second);
    const { status, body } = await owner.get(`${path}?vehicle_no=${encodeURIComponent('ka01 ab1,KA 01AB2, unknown')}`);
    expect(status).toBe(200);
    expect(body).toEqual([
      { vehicle_id: a, vehicle_no: 'KA01AB1', imei: first },
      { vehicle_id: b, vehicle_no: 'KA01AB2', imei: null },
    ]);
    const all = (await owner.get(path)).body as { vehicle_id: number }[];
    expect(all.map(({ vehicle_id: id }) => id)).toEqual(expect.arrayContaining([a, b]));
    expect((await theirs.get(`${path}?vehicle_no=KA01AB1`)).body).toMatchObject([{ imei: second }]);
    const tooMany = Array.from({ length: 501 }, (_u, i) => `V${i}`).join();
    expect((await owner.get(`${path}?vehicle_no=${tooMany}`)).body).toMatchObject({ status: 400 });
  });
});
