import { randomBytes } from 'node:crypto';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { RecordFields } from './record-store.ts';
import { findUnionPage } from './union-page.ts';

// Uses a real server, which responds late on a busy machine.
jest.setTimeout(60_000);

interface Item extends RecordFields {
  readonly list: number;
  readonly name: string | null;
}

const count = 60;
const names = ['b', 'a', null, 'ä', '😀', '\uffee', 'a'];

let database: Database;
beforeAll(async () => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/union_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'union-page-test' });
  const items = Array.from({ length: count }, (_none, at) => ({
    _id: at + 1,
    list: at % 7 === 0 || at > 50 ? 2 : at % 11 === 0 ? 3 : 1,
    name: names[at % names.length] ?? null,
    createdAt: new Date(at),
    updatedAt: new Date((at * 37) % 11),
    version: 1,
  }));
  await database.collection<Item>('items').insertMany(items);
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const items = () => database.collection<Item>('items');
const toIds = (found: readonly Item[]): number[] => found.map(({ _id }) => _id);

describe('findUnionPage', () => {
  it.each(['id', 'name', 'createdAt', 'updatedAt'])('returns the same pages as one query, by %s', async (field) => {
    const order = field === 'id' ? '_id' : field;
    for (const direction of [1, -1] as const) {
      const all = await items()
        .find({ list: { $in: [1, 2] } })
        .sort({ [order]: direction, _id: direction })
        .toArray();
      for (let offset = 0; offset <= all.length + 5; offset += 5) {
        const paging = { offset, limit: 7, page: 1 };
        const page = await findUnionPage(items(), [{ list: 1 }, { list: 2 }], { field, direction }, paging);
        expect(page.total).toBe(all.length);
        expect(toIds(page.items)).toEqual(toIds(all.slice(offset, offset + 7)));
      }
    }
  });

  it('returns all of both lists without paging, and one list if the other is empty', async () => {
    const sorting = { field: 'id', direction: 1 } as const;
    const both = await findUnionPage(items(), [{ list: 2 }, { list: 3 }], sorting);
    expect(toIds(both.items)).toEqual(
      toIds(
        await items()
          .find({ list: { $gt: 1 } })
          .sort({ _id: 1 })
          .toArray(),
      ),
    );
    const one = await findUnionPage(items(), [{ list: 9 }, { list: 3 }], sorting);
    expect(one.items.map(({ list }) => list)).toEqual(Array.from({ length: one.total }, () => 3));
  });
});
