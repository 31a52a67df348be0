import { accessChanged, announce, call, revokeKey } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { PlatformWorld } from '../testing/platform-world.ts';

jest.setTimeout(60_000);
let world: PlatformWorld;
beforeAll(async () => {
  world = await PlatformWorld.open();
});
afterAll(() => world.close());

describe('credentials', () => {
  it('unknown paths', async () => {
    expect((await world.anonymous.get('/api/nothing')).body).toMatchObject({ status: 401, code: 'api_key_missing' });
    expect((await world.as(world.ours.owner).get('/api/nothing')).body).toMatchObject({ status: 404 });
    expect((await world.anonymous.get('/.well-known/jwks.json')).body).toMatchObject({ keys: [{ alg: 'EdDSA' }] });
  });
});
