import { hasMongod, MongoReplicaSet } from '@fleet/testing';
import { describe } from '@jest/globals';
import { describePrimaryLoss } from './testing/primary-loss.ts';

(hasMongod() ? describe : describe.skip)('a MongoDB replica set', () => {
  describePrimaryLoss('the primary of MongoDB', async () => {
    const servers = await MongoReplicaSet.start();
    const user = { user: 'fleet', password: 'p@ss/word:1' };
    await servers.createUser(user);
    return {
      settings: { MONGODB_URL: servers.urlFor(user) },
      kill: async () => (await servers.killPrimary()).waitForElection,
      remove: () => servers.remove(),
    };
  });
});
