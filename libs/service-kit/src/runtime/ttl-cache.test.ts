import { describe, expect, it, jest } from '@jest/globals';
import { TtlCache } from './ttl-cache.ts';

describe('TtlCache', () => {
  it('loads once for concurrent callers, and again after the TTL or a deletion', async () => {
    jest.useFakeTimers();
    // The cache takes a start at time 0 for an entry without a TTL.
    jest.advanceTimersByTime(1);
    try {
      const cache = new TtlCache<number>({ ttlMs: 1_000 });
      let loads = 0;
      const load = async () => (loads += 1);
      expect(await Promise.all([cache.get('a', load), cache.get('a', load)])).toEqual([1, 1]);
      expect(await cache.get('b', load)).toBe(2);
      jest.advanceTimersByTime(999);
      expect(await cache.get('a', load)).toBe(1);
      jest.advanceTimersByTime(2);
      expect(await cache.get('a', load)).toBe(3);
      cache.delete('a');
      expect(await cache.get('a', load)).toBe(4);
      cache.clear();
      expect(await cache.get('b', load)).toBe(5);
    } finally {
      jest.useRealTimers();
    }
  });

  it('does not cache failures', async () => {
    const cache = new TtlCache<number>({ ttlMs: 1_000 });
    await expect(cache.get('a', () => Promise.reject(new Error('away')))).rejects.toThrow('away');
    expect(await cache.get('a', async () => 1)).toBe(1);
  });

  it('evicts the oldest entry when it is full', async () => {
    const cache = new TtlCache<string>({ ttlMs: 1_000, maxEntries: 2 });
    for (const key of ['a', 'b', 'c']) await cache.get(key, async () => 'first');
    expect(await cache.get('a', async () => 'second')).toBe('second');
    expect(await cache.get('c', async () => 'second')).toBe('first');
  });
});
