import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ProviderServer } from '../../maps/testing/provider-server.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

const list = '/api/rtt-tracking/get-imei-latest-location?address=true&imei=';
/** Size of the geocoding bucket, which refills by one token every 20 seconds. */
const limit = 3;

let harness: PlatformHarness;
let geocoder: ProviderServer;
beforeAll(async () => {
  geocoder = await ProviderServer.start(({ url }) => ({
    body: {
      lat: url.searchParams.get('lat'),
      lon: url.searchParams.get('lon'),
      display_name: `Street ${Math.round(Number(url.searchParams.get('lat')))}`,
      address: { country_code: 'xx' },
    },
  }));
  harness = await PlatformHarness.open({
    GEOCODER: 'nominatim',
    GEOCODER_URL: geocoder.url,
    RATE_LIMIT_GEOCODE_PER_MINUTE: String(limit),
  });
  // Ids start again in each database, so Redis may still have the buckets of another test file.
  const buckets = await harness.deps.redis.keys('rate-limit:platform-api:geocode:*');
  if (buckets.length > 0) await harness.deps.redis.del(buckets);
});
afterAll(async () => {
  await harness?.close();
  await geocoder?.stop();
});

/** Creates vehicles at these latitudes, the first with the newest position, and returns their terminal numbers. */
async function vehiclesAt(client: Client, latitudes: readonly number[]): Promise<string> {
  const imeis: string[] = [];
  const newestMs = Date.now();
  for (const [index, latitude] of latitudes.entries()) {
    const imei = newImei();
    const created = await client.post('/api/vehicles', { vehicle_no: `LA${randomInt(10 ** 9)}`, imei });
    expect(created.status).toBe(201);
    const timestamp = newestMs - index * 1_000;
    await writeLastLocation(harness.deps, { ...lastLocationAt(imei, latitude, 2), timestamp });
    imeis.push(imei);
  }
  return imeis.join();
}

/** Creates an account whose key has a full bucket. */
async function newOwner(): Promise<Client> {
  const tenant = await harness.tenant(`Tenant ${randomInt(10 ** 9)}`);
  return harness.as(tenant.owner);
}

async function addresses(client: Client, imeis: string): Promise<unknown[]> {
  const { status, body } = await client.get(list + imeis);
  expect(status).toBe(200);
  return (body as { address: unknown }[]).map(({ address }) => address);
}

describe('addresses of the newest positions', () => {
  it('takes a geocoding token for each address and returns null for older positions once the bucket is empty', async () => {
    const owner = await newOwner();
    const imeis = await vehiclesAt(owner, [11, 12, 13, 14, 15]);
    geocoder.received.length = 0;
    expect(await addresses(owner, imeis)).toEqual(['Street 11', 'Street 12', 'Street 13', null, null]);
    expect(geocoder.received).toHaveLength(limit);
    expect(await owner.get('/api/devices/reverse-geocode?latitude=1&longitude=2')).toMatchObject({ status: 429 });
  });

  it('returns cached addresses without a token, also while the bucket is empty', async () => {
    const owner = await newOwner();
    const imeis = await vehiclesAt(owner, [21, 22, 22.000_01]);
    expect(await owner.get('/api/devices/reverse-geocode?latitude=21&longitude=2')).toMatchObject({
      data: { address: 'Street 21', cached: false },
    });
    geocoder.received.length = 0;
    for (let times = 0; times < limit + 2; times += 1)
      expect(await addresses(owner, imeis)).toEqual(['Street 21', 'Street 22', 'Street 22']);
    // Two vehicles at the same place need one lookup.
    expect(geocoder.received).toHaveLength(1);
    expect(await owner.get('/api/devices/reverse-geocode?latitude=22&longitude=2')).toMatchObject({
      data: { address: 'Street 22', cached: true },
    });
    expect((await owner.get('/api/devices/reverse-geocode?latitude=22&longitude=2')).status).toBe(429);
    expect(await addresses(owner, imeis)).toEqual(['Street 21', 'Street 22', 'Street 22']);
  });

  it('does not return addresses that another account has cached', async () => {
    const [owner, other] = [await newOwner(), await newOwner()];
    await addresses(owner, await vehiclesAt(owner, [31]));
    geocoder.received.length = 0;
    expect(await addresses(other, await vehiclesAt(other, [31]))).toEqual(['Street 31']);
    expect(geocoder.received).toHaveLength(1);
  });
});
