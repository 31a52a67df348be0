import { randomBytes } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { findByIds } from './find-by-ids.ts';
import { type Database, openDatabase } from './mongo.ts';

// A real server on a machine that may be busy.
jest.setTimeout(60_000);

let database: Database;
beforeAll(async () => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/ids_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'find-by-ids-test' });
  const known = Array.from({ length: 1_200 }, (_none, at) => ({ _id: `terminal-${at}`, at }));
  await database.collection<{ _id: string; at: number }>('known').insertMany(known);
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const find = async (ids: readonly string[]) => {
  const found = await findByIds(database.collection<{ _id: string; at: number }>('known'), ids);
  return found.map(({ at }) => at).sort((one, other) => one - other);
};

describe('findByIds', () => {
  it('finds existing documents, also more than one query requests', async () => {
    const ids = Array.from({ length: 1_190 }, (_none, at) => `terminal-${at + 20}`);
    expect(await find(ids)).toEqual(Array.from({ length: 1_180 }, (_none, at) => at + 20));
  });

  it('finds nothing for no ids and for unknown ids', async () => {
    expect(await find([])).toEqual([]);
    expect(await find(['terminal', 'terminal-1200', ''])).toEqual([]);
  });
});
