import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatCommandFigures } from './command-load.ts';
import { findFaults } from './fleet.ts';
import { LoadedProduct } from './loaded-product.ts';
import { recoveryMs } from './node-loss.ts';

/** Servers of one store, the primary of which is killed. */
interface ReplicatedServers {
  /** Setting of the product that names them. */
  readonly settings: Readonly<Record<string, string>>;
  /** Kills the primary with SIGKILL; the returned function waits for its successor. */
  readonly kill: () => Promise<() => Promise<void>>;
  /** Returns the commands that the servers refused for want of a right; empty for none. */
  readonly readRefusals?: () => Promise<string>;
  readonly remove: () => Promise<void>;
}

/** Defines the test that the product loses nothing with the primary of a replicated store. */
export function describePrimaryLoss(name: string, startServers: () => Promise<ReplicatedServers>): void {
  let servers: ReplicatedServers;
  let product: LoadedProduct;

  beforeAll(async () => {
    servers = await startServers();
    product = await LoadedProduct.start({ ...servers.settings });
  }, 300_000);

  afterAll(async () => {
    await product?.stop();
    await servers?.remove();
  }, 120_000);

  describe(`the loss of ${name}`, () => {
    it('loses nothing acknowledged, and the product continues after the failover', async () => {
      let killedAtMs = 0;
      let failedOverMs = 0;
      const calls = await product.callDuring(async () => {
        killedAtMs = performance.now();
        const waitForFailover = await servers.kill();
        await waitForFailover();
        failedOverMs = performance.now() - killedAtMs;
      });
      process.stdout.write(
        `${name} killed, its successor after ${failedOverMs.toFixed(0)} ms: ` +
          `${formatCommandFigures(calls, killedAtMs)}\n`,
      );
      expect(findFaults(calls, [200, 503, 504])).toEqual([]);
      expect(calls.filter(({ status, atMs }) => status !== 200 && atMs > killedAtMs + recoveryMs)).toEqual([]);
      await product.assertRecovered();
      const [terminal] = product.fleet.terminals;
      const start = () => product.harness.get(`/realtime/start-stream?imei=${terminal?.phone}&channel=1`);
      await waitFor(async () => (await start()).status === 200, 'a stream to start', recoveryMs);
      expect((await servers.readRefusals?.()) ?? '').toBe('');
    }, 400_000);
  });
}
