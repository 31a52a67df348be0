import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { sweepOnce } from './sweeper.ts';
import type { Sweep } from './sweeps.ts';
import { PlatformWorld } from './testing/platform-world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: PlatformWorld;
beforeAll(async () => {
  world = await PlatformWorld.open();
});
afterAll(() => world.close());

const later = (ms: number): Date => new Date(Date.now() + ms);

describe('sweeps', () => {
  it('each is run by one replica, and again when its time has passed', async () => {
    let times = 0;
    const list: Sweep[] = [{ name: 'test', everyMs: 60_000, run: async () => (times += 1) }];
    await Promise.all([1, 2, 3].map(() => sweepOnce(world.deps, list)));
    expect(times).toBe(1);
    await sweepOnce(world.deps, list, later(59_000));
    expect(times).toBe(1);
    await Promise.all([1, 2].map(() => sweepOnce(world.deps, list, later(61_000))));
    expect(times).toBe(2);
  });

  it('one that fails holds up no other', async () => {
    const ran: string[] = [];
    const fails = async (): Promise<void> => {
      throw new Error('away');
    };
    await sweepOnce(world.deps, [
      { name: 'fails', everyMs: 1, run: fails },
      { name: 'runs', everyMs: 1, run: async () => ran.push('runs') },
    ]);
    expect(ran).toEqual(['runs']);
  });

  it('remove what has expired, and nothing else', async () => {
    const { database } = world.deps;
    const [past, future] = [later(-2 * 24 * 3_600_000), later(3_600_000)];
    const collections = ['idempotency_keys', 'log_in_failures', 'one_time_codes', 'reset_tokens'];
    for (const name of collections) {
      const collection = database.collection<{ _id: string }>(name);
      await collection.insertMany([
        { _id: 'old', expiresAt: past } as never,
        { _id: 'new', expiresAt: future } as never,
      ]);
    }
    const user = await world.user('viewer');
    const sessions = database.collection<{ _id: number }>('sessions');
    await sessions.updateOne({ _id: user.sessionId }, { $set: { revokedAt: past } });
    const open = await world.user('viewer');
    await sweepOnce(world.deps);
    for (const name of collections) {
      const left = await database.collection<{ _id: string }>(name).find().toArray();
      expect([name, left.map(({ _id }) => _id)]).toEqual([name, ['new']]);
    }
    expect(await sessions.findOne({ _id: user.sessionId })).toBeNull();
    expect((await world.as(open).get('/api/auth/me')).status).toBe(200);
  });
});
