import { FlvTag } from '@fleet/jt1078';
import { describe, expect, it } from '@jest/globals';
import { GopCache } from './gop-cache.ts';

const headers = { video: null, audio: null };
const key = (): FlvTag => new FlvTag('video', 0, 1_000, { isKeyFrame: true });
const videoTag = (): FlvTag => new FlvTag('video', 0, 100);

function createCache(tags: readonly FlvTag[], options: { retainAll?: boolean; maxTags?: number } = {}): GopCache {
  const cache = new GopCache({ maxTags: options.maxTags ?? 10, maxBytes: 3_000 });
  cache.retainAll = options.retainAll ?? false;
  for (const tag of tags) cache.add(tag, headers);
  return cache;
}

describe('GopCache', () => {
  it('begins with the latest key frame', () => {
    const last = key();
    expect(createCache([videoTag(), key(), videoTag(), last, videoTag()]).tags.map(({ tag }) => tag)[0]).toBe(last);
    expect(createCache([videoTag(), videoTag()]).tags).toEqual([]);
  });

  it('is cleared completely when it exceeds its limits', () => {
    expect(createCache([key(), ...Array.from({ length: 4 }, videoTag)], { maxTags: 4 }).tags).toEqual([]);
    const cache = createCache([key(), ...Array.from({ length: 30 }, videoTag)], { maxTags: 100 });
    expect([cache.tags.length, cache.bytes]).toEqual([0, 0]);
    cache.add(key(), headers);
    expect(cache.tags).toHaveLength(1);
  });

  it('retains everything while retainAll is set, and then what begins with the latest key frame', () => {
    const last = key();
    const cache = createCache([key(), videoTag(), last, videoTag()], { retainAll: true });
    expect(cache.tags).toHaveLength(4);
    cache.retainAll = false;
    expect([cache.tags[0]?.tag === last, cache.tags.length]).toEqual([true, 2]);
    expect(cache.bytes).toBe(cache.tags.reduce((sum, { tag }) => sum + tag.wire.length, 0));
    cache.add(key(), headers);
    expect(cache.tags).toHaveLength(1);
  });

  it('is cleared at the end of retainAll if it exceeds its limits', () => {
    const cache = createCache([key(), ...Array.from({ length: 30 }, videoTag)], { retainAll: true, maxTags: 100 });
    expect(cache.tags).toHaveLength(31);
    cache.retainAll = false;
    expect([cache.tags.length, cache.bytes]).toEqual([0, 0]);
  });
});
