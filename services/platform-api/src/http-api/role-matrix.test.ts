import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Permission, permissions, type Role, roles } from '../access/roles.ts';
import { declaredRoutes } from '../assembly/api-document.ts';
import { PlatformHarness, type TestUser } from '../testing/platform-harness.ts';

// Covers every role at every route, which takes long on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
const users = new Map<Role, TestUser>();
let apiKey: string;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  // Viewers have access to video here.
  for (const role of roles) users.set(role, await harness.user(role, harness.ours, { canViewVideo: true }));
  const scopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'];
  apiKey = String((await harness.as(harness.ours.owner).post('/api/api-keys', { name: 'all', scopes })).data['key']);
});
afterAll(() => harness?.close());

/** Returns a path with an id that no record has. Bodies are invalid too, so admitted requests change nothing. */
const samplePath = (path: string): string =>
  `/api${path}`.replaceAll(/:(\w+)/g, (_all, name: string) => (name === 'slug' ? 'x'.repeat(22) : '999999999'));

const routes = declaredRoutes().filter(({ access }) => access.credentials !== 'none' && access.credentials !== 'key');
const sortedRoutes = routes.toSorted((a, b) => Number(a.operationId === 'logout') - Number(b.operationId === 'logout'));

/** Roles that a route rejects in spite of their permission. */
const alsoRefused: Readonly<Record<string, readonly Role[]>> = {
  // The installation has several accounts here.
  listUnassignedDevices: ['owner', 'admin'],
  // They see no video of their account, and nothing is shared with them.
  listDownloadedDashcamVideos: ['dealer', 'driver'],
};

describe('roles and routes', () => {
  it.each(sortedRoutes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s admits the roles of its permission, and no other',
    async (_name, { method, path, access, operationId }) => {
      const refused: Role[] = [];
      for (const [role, { token }] of users) {
        const client = harness.with({ authorization: `Bearer ${token}`, 'x-api-key': apiKey });
        const url = samplePath(path);
        const hasBody = method === 'post' || method === 'put';
        const { status } = hasBody ? await client[method](url, []) : await client[method](url);
        expect([url, role, status < 500]).toEqual([url, role, true]);
        expect([url, role, status]).not.toEqual([url, role, 401]);
        if (status === 403) refused.push(role);
      }
      const besides = alsoRefused[operationId] ?? [];
      const allowed = permissions[access.permission].filter((role) => !besides.includes(role));
      expect(refused).toEqual(roles.filter((role) => !allowed.includes(role)));
    },
  );

  it('grants each role the permissions of the contract', () => {
    const may = (role: Role): Permission[] =>
      (Object.keys(permissions) as Permission[]).filter((name) =>
        (permissions[name] as readonly Role[]).includes(role),
      );
    const ownersOnly: Permission[] = ['billing', 'partnerCommandLevels', 'accountDeletion'];
    expect(may('superadmin')).toEqual(Object.keys(permissions));
    expect(may('owner')).toEqual(Object.keys(permissions).filter((name) => name !== 'accounts'));
    expect(may('admin')).toEqual(may('owner').filter((name) => !ownersOnly.includes(name)));
    expect(may('manager')).toEqual(['self', 'read', 'fleet', 'sharing', 'webhooks', 'commands', 'video']);
    expect(may('viewer')).toEqual(['self', 'read', 'video']);
    expect(may('driver')).toEqual(['self', 'read']);
    expect(may('dealer')).toEqual(['self', 'read', 'accounts']);
  });
});
