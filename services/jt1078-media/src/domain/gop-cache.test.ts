import { FlvTag } from '@fleet/jt1078';
import { describe, expect, it } from '@jest/globals';
import { GopCache } from './gop-cache.ts';

const headers = { video: null, audio: null };
const key = (): FlvTag => new FlvTag('video', 0, 1_000, { isKeyFrame: true });
const picture = (): FlvTag => new FlvTag('video', 0, 100);

function cacheOf(tags: readonly FlvTag[], options: { keepsAll?: boolean; maxTags?: number } = {}): GopCache {
  const cache = new GopCache({ maxTags: options.maxTags ?? 10, maxBytes: 3_000 });
  cache.keepsAll = options.keepsAll ?? false;
  for (const tag of tags) cache.add(tag, headers);
  return cache;
}

describe('the cached group of pictures', () => {
  it('begins with the latest key frame', () => {
    const last = key();
    expect(cacheOf([picture(), key(), picture(), last, picture()]).tags.map(({ tag }) => tag)[0]).toBe(last);
    expect(cacheOf([picture(), picture()]).tags).toEqual([]);
  });

  it('is given up whole when it outgrows its bounds', () => {
    expect(cacheOf([key(), ...Array.from({ length: 4 }, picture)], { maxTags: 4 }).tags).toEqual([]);
    const cache = cacheOf([key(), ...Array.from({ length: 30 }, picture)], { maxTags: 100 });
    expect([cache.tags.length, cache.bytes]).toEqual([0, 0]);
    cache.add(key(), headers);
    expect(cache.tags).toHaveLength(1);
  });

  it('keeps all while told so', () => {
    const cache = cacheOf([key(), picture(), key(), picture()], { keepsAll: true });
    expect(cache.tags).toHaveLength(4);
    cache.keepsAll = false;
    cache.add(key(), headers);
    expect(cache.tags).toHaveLength(1);
  });
});
