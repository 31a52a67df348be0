import { RedisCluster } from '@fleet/testing';
import { describeMasterLoss } from './testing/redis-master-loss.ts';

describeMasterLoss('a master of a Redis Cluster', async () => {
  const servers = await RedisCluster.start();
  // The master with the states of all vehicles.
  const key = 'telemetry-place:{telemetry-0}';
  return { url: servers.url, kill: () => servers.killMasterOf(key), remove: () => servers.remove() };
});
