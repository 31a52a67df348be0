import { describe, expect, it } from '@jest/globals';
import { StartQueue } from './start-queue.ts';

const never = new AbortController().signal;
const ignore = (): void => undefined;
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('the queue of starts', () => {
  it('runs four starts of different vehicles at once, and reports how many are ahead of the others', async () => {
    const queue = new StartQueue();
    const begun: number[] = [];
    const ends = new Map<number, () => void>();
    const ahead = new Map<number, number>();
    for (let vehicle = 1; vehicle <= 6; vehicle += 1)
      void queue
        .enter(vehicle, (count) => ahead.set(vehicle, count), never)
        .then((end) => {
          begun.push(vehicle);
          if (end !== null) ends.set(vehicle, end);
        });
    await soon();
    expect(begun).toEqual([1, 2, 3, 4]);
    expect([ahead.get(5), ahead.get(6)]).toEqual([1, 2]);
    ends.get(2)?.();
    await soon();
    expect(begun).toEqual([1, 2, 3, 4, 5]);
    expect(ahead.get(6)).toBe(1);
  });

  it('starts the cameras of a vehicle one after the other, and lets other vehicles pass', async () => {
    const queue = new StartQueue();
    const begun: string[] = [];
    const enter = (name: string, vehicle: number) =>
      queue.enter(vehicle, ignore, never).then((end) => {
        begun.push(name);
        return end;
      });
    const first = enter('7.1', 7);
    void enter('7.2', 7);
    void enter('8.1', 8);
    await soon();
    expect(begun).toEqual(['7.1', '8.1']);
    (await first)?.();
    await soon();
    expect(begun).toEqual(['7.1', '8.1', '7.2']);
  });

  it('forgets a start that is canceled, and ends a turn once', async () => {
    const queue = new StartQueue(1);
    const end = await queue.enter(1, ignore, never);
    const canceled = new AbortController();
    const second = queue.enter(2, ignore, canceled.signal);
    const third = queue.enter(3, ignore, never);
    const fourth = queue.enter(4, ignore, never);
    canceled.abort();
    expect(await second).toBeNull();
    end?.();
    end?.();
    expect(await third).not.toBeNull();
    const state = await Promise.race([fourth.then(() => 'begun'), soon().then(() => 'waiting')]);
    expect(state).toBe('waiting');
  });
});
