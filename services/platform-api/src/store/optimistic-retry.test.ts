import { randomBytes } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type AccountRecord, AccountRepository } from './account-repository.ts';
import { isDuplicateError, isVersionConflict, retryOnConflict, updateWithVersion } from './optimistic-retry.ts';
import { RecordStore } from './record-store.ts';

jest.setTimeout(60_000);

interface Tally extends AccountRecord {
  readonly count: number;
}

/** Two replicas. */
let replicas: Database[];
const scope = { accountId: 1 };
const tallies = (database: Database) => new AccountRepository<Tally>(new RecordStore(database), 'tallies');

beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/again_${randomBytes(6).toString('hex')}`;
  replicas = [1, 2].map((no) => openDatabase(url.href, { appName: `again-test-${no}` }));
});
afterAll(async () => {
  await replicas[0]?.db.dropDatabase();
  for (const database of replicas) await database.close();
});

describe('updateWithVersion', () => {
  it('applies all concurrent changes of a record on several replicas without lost updates', async () => {
    const [first] = replicas;
    if (first === undefined) throw new Error('no database');
    const { _id } = await tallies(first).insert(scope, { count: 0 });
    const increment = (database: Database) =>
      updateWithVersion(undefined, async () => {
        const before = await tallies(database).find(scope, _id);
        const { count = 0, version } = before ?? {};
        return tallies(database).update(scope, _id, { count: count + 1 }, version);
      });
    await Promise.all(Array.from({ length: 12 }, (_unused, at) => increment(replicas[at % 2] ?? first)));
    expect(await tallies(first).find(scope, _id)).toMatchObject({ count: 12, version: 13 });
  });

  it('returns 412 immediately for another version than the one in If-Match', async () => {
    const [database] = replicas;
    if (database === undefined) throw new Error('no database');
    const { _id } = await tallies(database).insert(scope, { count: 0 });
    let tries = 0;
    const write = updateWithVersion(7, () => {
      tries += 1;
      return tallies(database).update(scope, _id, { count: 1 }, 7);
    });
    await expect(write).rejects.toMatchObject({ code: 'version_mismatch', status: 412 });
    expect(tries).toBe(1);
  });
});

describe('retryOnConflict', () => {
  const failing = (times: number, error: Error) => {
    let left = times;
    return async (): Promise<string> => {
      left -= 1;
      if (left >= 0) throw error;
      return 'done';
    };
  };

  it('retries conflicts, and no other errors', async () => {
    const duplicate = new AppError('duplicate', 'taken');
    expect(await retryOnConflict(failing(8, duplicate), isDuplicateError)).toBe('done');
    await expect(retryOnConflict(failing(1, duplicate), isVersionConflict)).rejects.toBe(duplicate);
    const unavailable = new Error('away');
    await expect(retryOnConflict(failing(1, unavailable), isDuplicateError)).rejects.toBe(unavailable);
  });

  it('throws 503 after the timeout', async () => {
    const duplicate = new AppError('duplicate', 'taken');
    const never = retryOnConflict(failing(Number.POSITIVE_INFINITY, duplicate), isDuplicateError, 50);
    await expect(never).rejects.toMatchObject({ code: 'unavailable', status: 503, cause: duplicate });
  });
});
