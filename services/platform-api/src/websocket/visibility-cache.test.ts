import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Principals } from '../access/principals.ts';
import { PlatformHarness, type TestUser } from '../testing/platform-harness.ts';
import { type UserVisibility, type ViewListener, VisibilityCache } from './visibility-cache.ts';

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
async function look(views: VisibilityCache, { id: userId, accountId, sessionId }: TestUser) {
  const view = await views.open({ accountId, userId, sessionId, mintedByKeyId: null, keyId: null, scopes: [] });
  if (view === 'token' || view === 'suspended') throw new Error(view);
  const ended: Parameters<ViewListener['viewEnded']>[0][] = [];
  view.listeners.add({ viewChanged: () => undefined, viewEnded: (why) => void ended.push(why) });
  return { view: view satisfies UserVisibility, ended };
}

describe('missed events of a broker outage', () => {
  it('wait only for users whose visibility can be read; the others reconnect', async () => {
    const views = new VisibilityCache({ ...harness.deps, principals, currentWithinMs: 5_000 });
    const [fine, broken] = [await look(views, harness.ours.owner), await look(views, harness.theirs.owner)];
    const principal = principals.findPrincipal.bind(principals);
    const reading = jest.spyOn(principals, 'findPrincipal').mockImplementation(async (claims) => {
      if (claims.userId === harness.theirs.owner.id) throw new Error('cannot be read');
      return principal(claims);
    });
    const sinceMs = performance.now();
    await views.current();
    expect(fine.view.currentOfMs).toBeGreaterThanOrEqual(sinceMs);
    expect([fine.ended, broken.ended]).toEqual([[], ['unknown']]);

    // A reconnecting client is checked again and does not delay other clients.
    await expect(look(views, harness.theirs.owner)).rejects.toThrow('cannot be read');
    reading.mockRestore();
    const again = await look(views, harness.theirs.owner);
    expect(again.view).not.toBe(broken.view);
    await views.current();
    expect([fine.ended, again.ended]).toEqual([[], []]);
    views.stop();
  });
});
