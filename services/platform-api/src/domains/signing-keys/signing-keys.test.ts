import { createLogger, Encryption } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { expect, it } from '@jest/globals';
import { SigningKeys } from './signing-keys.ts';
import type { SigningKey } from './store.ts';

const log = createLogger('signing-keys-test', 'silent');
const encryption = new Encryption('a key that is long enough for a test');

/**
 * Creates a fake of a slow database: it returns two reads immediately, and all later ones only after a first key was
 * inserted.
 */
function busyDatabase(): { readonly database: Database; readonly keys: SigningKey[] } {
  const keys: SigningKey[] = [];
  let isThere = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    isThere = resolve;
  });
  let reads = 0;
  const toArray = async (): Promise<SigningKey[]> => {
    reads += 1;
    if (reads > 2) await first;
    return keys.toSorted((a, b) => b._id - a._id).slice(0, 2);
  };
  const insertOne = async (key: SigningKey): Promise<void> => {
    if (keys.some(({ _id }) => _id === key._id)) throw Object.assign(new Error('E11000'), { code: 11_000 });
    keys.push(key);
    isThere();
  };
  const collection = () => ({ insertOne, find: () => ({ sort: () => ({ limit: () => ({ toArray }) }) }) });
  return { database: { collection } as unknown as Database, keys };
}

it('concurrent requests for the first key create only one, because each further key would invalidate older tokens', async () => {
  const { database, keys } = busyDatabase();
  const signing = new SigningKeys({ database, encryption, log });
  const kids = await Promise.all(Array.from({ length: 20 }, async () => (await signing.signingKey()).kid));
  expect(new Set(kids)).toEqual(new Set([keys[0]?.kid]));
  expect(keys).toHaveLength(1);
  expect(await signing.rotateWhenDue(30)).toBe(false);
  await signing.rotate();
  expect(await signing.jwks()).toMatchObject([{ kid: keys[1]?.kid }, { kid: keys[0]?.kid }]);
});
