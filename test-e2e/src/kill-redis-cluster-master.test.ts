import { RedisCluster } from '@fleet/testing';
import { describePrimaryLoss } from './testing/primary-loss.ts';

describePrimaryLoss('a master of a Redis Cluster', async () => {
  const servers = await RedisCluster.start({ user: { name: 'fleet', password: 'rights-of-the-product' } });
  // The master with the states of all vehicles.
  const key = 'telemetry-place:{telemetry-0}';
  return {
    settings: { REDIS_URL: servers.url },
    kill: async () => (await servers.killMasterOf(key)).waitForFailover,
    readRefusals: () => servers.readRefusals(),
    remove: () => servers.remove(),
  };
});
