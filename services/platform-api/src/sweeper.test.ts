import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type SweepTurn, sweepTurn } from './store/sweep-turn.ts';
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

  it('that are long go on a minute later where they have left off, and rest once all is done', async () => {
    const seen: number[] = [];
    const answers = [5, 9, null, 7, null];
    const name = 'in turns';
    const takeTurn = async (_deps: unknown, { from }: SweepTurn): Promise<number | null> => {
      seen.push(from);
      const next = answers[seen.length - 1];
      if (seen.length === 2) throw new Error('away');
      return next ?? null;
    };
    const list: Sweep[] = [{ name, everyMs: 3_600_000, takeTurn }];
    const at = async (minutes: number): Promise<number[]> => {
      await Promise.all([1, 2].map(() => sweepOnce(world.deps, list, new Date(start + minutes * 60_000))));
      return seen;
    };
    const start = Date.now();
    expect(await at(0)).toEqual([1]);
    expect(await at(0.9)).toEqual([1]);
    // The second turn fails.
    expect(await at(1.1)).toEqual([1, 5]);
    expect(await at(2)).toEqual([1, 5]);
    expect(await at(2.2)).toEqual([1, 5, 5]);
    // All is done.
    expect(await at(62)).toEqual([1, 5, 5]);
    expect(await at(63)).toEqual([1, 5, 5, 1]);
    expect(await at(65)).toEqual([1, 5, 5, 1, 7]);
  });

  it('end soon where the service stops, and no other one begins', async () => {
    const stopped = new AbortController();
    const answers: boolean[] = [];
    let others = 0;
    const takeTurn = async (_deps: unknown, { from, isOver }: SweepTurn): Promise<number> => {
      answers.push(isOver());
      stopped.abort();
      answers.push(isOver());
      return from;
    };
    const list: Sweep[] = [
      { name: 'long', everyMs: 60_000, takeTurn },
      { name: 'behind it', everyMs: 60_000, run: async () => (others += 1) },
    ];
    await sweepOnce(world.deps, list, new Date(), stopped.signal);
    expect(answers).toEqual([false, true]);
    expect(others).toBe(0);
  });

  it('that are long take part of a minute', () => {
    const { signal } = new AbortController();
    expect(sweepTurn(3, signal, 0).isOver()).toBe(true);
    expect(sweepTurn(3, signal, 600_000).isOver()).toBe(false);
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
