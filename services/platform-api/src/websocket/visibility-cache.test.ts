import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Principals } from '../access/principals.ts';
import { PlatformHarness, type TestUser } from '../testing/platform-harness.ts';
import type { UserVisibility, VisibilityListener } from './user-visibility.ts';
import { VisibilityCache } from './visibility-cache.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let principals: Principals;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  principals = new Principals(harness.records, harness.bus, harness.deps.log);
});
afterAll(async () => {
  principals.stop();
  await harness.close();
});

/** A user with a connection, and the reason of its end. */
async function openVisibility(cache: VisibilityCache, { id: userId, accountId, sessionId }: TestUser) {
  const visibility = await cache.open({ accountId, userId, sessionId, mintedByKeyId: null, keyId: null, scopes: [] });
  if (visibility === 'token' || visibility === 'suspended') throw new Error(visibility);
  const ended: Parameters<VisibilityListener['visibilityEnded']>[0][] = [];
  visibility.listeners.add({ visibilityChanged: () => undefined, visibilityEnded: (why) => void ended.push(why) });
  return { view: visibility satisfies UserVisibility, ended };
}

describe('missed events of a broker outage', () => {
  it('wait only for users whose visibility can be read; the others reconnect', async () => {
    const cache = new VisibilityCache({ ...harness.deps, principals, refreshTimeoutMs: 5_000 });
    const [fine, broken] = [
      await openVisibility(cache, harness.ours.owner),
      await openVisibility(cache, harness.theirs.owner),
    ];
    const principal = principals.findPrincipal.bind(principals);
    const reading = jest.spyOn(principals, 'findPrincipal').mockImplementation(async (claims) => {
      if (claims.userId === harness.theirs.owner.id) throw new Error('cannot be read');
      return principal(claims);
    });
    const sinceMs = performance.now();
    await cache.refreshAll();
    expect(fine.view.currentAsOfMs).toBeGreaterThanOrEqual(sinceMs);
    expect([fine.ended, broken.ended]).toEqual([[], ['unknown']]);

    // A reconnecting client is checked again and does not delay other clients.
    await expect(openVisibility(cache, harness.theirs.owner)).rejects.toThrow('cannot be read');
    reading.mockRestore();
    const again = await openVisibility(cache, harness.theirs.owner);
    expect(again.view).not.toBe(broken.view);
    await cache.refreshAll();
    expect([fine.ended, again.ended]).toEqual([[], []]);
    cache.stop();
  });
});
