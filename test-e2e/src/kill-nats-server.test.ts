import { NatsCluster } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatCommandFigures } from './testing/command-load.ts';
import { findFaults } from './testing/fleet.ts';
import { LoadedProduct } from './testing/loaded-product.ts';

/** No command may fail later: an election takes seconds, and a command waits for its device. */
const electionMs = 30_000;

let cluster: NatsCluster;
let product: LoadedProduct;

beforeAll(async () => {
  cluster = await NatsCluster.start();
  product = await LoadedProduct.start({ NATS_URL: cluster.url, JETSTREAM_REPLICAS: '3' });
}, 300_000);

afterAll(async () => {
  await product?.stop();
  await cluster?.remove();
}, 120_000);

describe('the loss of one of three NATS servers', () => {
  it.each([0, 1, 2])(
    'loses nothing acknowledged and fails commands only in the election: server %i',
    async (index) => {
      let killedAtMs = 0;
      const calls = await product.callDuring(async () => {
        killedAtMs = performance.now();
        await cluster.kill(index);
      });
      process.stdout.write(`NATS server ${index} killed: ${formatCommandFigures(calls, killedAtMs)}\n`);
      expect(findFaults(calls, [200, 502, 503, 504])).toEqual([]);
      expect(calls.filter(({ status, atMs }) => status !== 200 && atMs > killedAtMs + electionMs)).toEqual([]);
      await product.assertRecovered();
      await cluster.restart(index);
    },
    400_000,
  );
});
