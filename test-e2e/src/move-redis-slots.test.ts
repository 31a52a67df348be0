import { RedisCluster } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatCommandFigures } from './testing/command-load.ts';
import { LoadedProduct } from './testing/loaded-product.ts';

let servers: RedisCluster;
let product: LoadedProduct;

beforeAll(async () => {
  servers = await RedisCluster.start({ user: { name: 'fleet', password: 'rights-of-the-product' } });
  product = await LoadedProduct.start({ REDIS_URL: servers.url });
}, 300_000);

afterAll(async () => {
  await product?.stop();
  await servers?.remove();
}, 120_000);

describe('a Redis Cluster whose slots are moved', () => {
  it('fails no command and loses nothing acknowledged', async () => {
    let slots = 0;
    const startedAtMs = performance.now();
    const calls = await product.callDuring(async () => {
      // Each round empties the master that then has the states of all vehicles.
      for (let round = 0; round < 2; round += 1)
        slots += await servers.moveSlotsFromMasterOf('telemetry-place:{telemetry-0}');
    });
    process.stdout.write(`${slots} slots moved: ${formatCommandFigures(calls, startedAtMs)}\n`);
    expect(slots).toBeGreaterThan(2);
    expect(calls.filter(({ status }) => status !== 200)).toEqual([]);
    await product.assertRecovered();
    expect(await servers.readRefusals()).toBe('');
  }, 400_000);
});
