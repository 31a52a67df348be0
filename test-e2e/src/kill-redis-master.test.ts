import { RedisSentinels } from '@fleet/testing';
import { describeMasterLoss } from './testing/redis-master-loss.ts';

describeMasterLoss('the Redis master behind sentinels', async () => {
  const servers = await RedisSentinels.start();
  return { url: servers.url, kill: () => servers.killMaster(), remove: () => servers.remove() };
});
