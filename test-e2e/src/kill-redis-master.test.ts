import { RedisSentinels } from '@fleet/testing';
import { describePrimaryLoss } from './testing/primary-loss.ts';

describePrimaryLoss('the Redis master behind sentinels', async () => {
  const servers = await RedisSentinels.start({ user: { name: 'fleet', password: 'rights-of-the-product' } });
  return {
    settings: { REDIS_URL: servers.url },
    kill: async () => (await servers.killMaster()).waitForFailover,
    readRefusals: () => servers.readRefusals(),
    remove: () => servers.remove(),
  };
});
