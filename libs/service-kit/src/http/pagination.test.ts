import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { pageResponse, paginationQuery, parsePagination, parseSort, sortParameter } from './pagination.ts';
import { compileParameters } from './validate.ts';
import { describeErrors } from './validation-messages.ts';

const parse = compileParameters(Type.Object({ ...paginationQuery, sort: sortParameter(['id', 'name']) }), 'query');
const paging = (query: Record<string, string>) =>
  parsePagination(parse(query) as Parameters<typeof parsePagination>[0]);

describe('paging (docs/reference/conventions.md)', () => {
  it('accepts limit and offset, or page instead of offset', () => {
    expect(paging({})).toEqual({ limit: 50, offset: 0, page: 1 });
    expect(paging({ limit: '10', offset: '25' })).toEqual({ limit: 10, offset: 25, page: 3 });
    expect(paging({ limit: '10', page: '3' })).toEqual({ limit: 10, offset: 20, page: 3 });
    expect(() => paging({ offset: '0', page: '1' })).toThrow(
      'The parameters page and offset cannot be combined. Send one of them.',
    );
  });

  it('clamps a limit above the maximum, and rejects invalid ones', () => {
    expect(paging({ limit: '100000' })).toMatchObject({ limit: 200 });
    for (const limit of ['0', '-1', 'ten', '1.5']) expect(() => paging({ limit })).toThrow(/parameter limit/);
    for (const page of ['0', '-1']) expect(() => paging({ page })).toThrow(/parameter page/);
    expect(() => paging({ offset: '-1' })).toThrow(/parameter offset/);
  });

  it('returns the range for an offset or page that is too large, and accepts every smaller one', () => {
    const parsePlain = compileParameters(Type.Object(paginationQuery), 'query', describeErrors);
    expect(() => parsePlain({ offset: '1000000000000000' })).toThrow(
      'The query parameter offset must be an integer from 0 to 999999999999999.',
    );
    expect(() => parsePlain({ page: '99999999999999999999' })).toThrow(
      'The query parameter page must be an integer from 1 to 999999999999999.',
    );
    expect(() => parsePlain({ offset: '-1' })).toThrow('The query parameter offset must be from 0 to 999999999999999.');
    const last = paging({ limit: '200', page: '999999999999999' });
    expect(Number.isSafeInteger(last.offset)).toBe(true);
    expect(last.page).toBe(999_999_999_999_999);
  });

  it('returns the applied values; a page past the end is empty', () => {
    expect(pageResponse({ items: [], total: 7 }, { limit: 5, offset: 10, page: 3 })).toEqual({
      data: [],
      meta: { pagination: { page: 3, pageSize: 5, pageCount: 2, total: 7 } },
    });
  });

  it('sorts by a field of the list only, newest first by default', () => {
    expect(parseSort((parse({}) as { sort: string }).sort)).toEqual({ field: 'id', direction: -1 });
    expect(parseSort('name')).toEqual({ field: 'name', direction: 1 });
    expect(() => parse({ sort: 'password' })).toThrow(/parameter sort/);
    const createSortSchema = (own: Parameters<typeof sortParameter>[1]) =>
      compileParameters(Type.Object({ sort: sortParameter(['id', 'at'], own) }), 'query')({});
    expect(createSortSchema({ default: '-at' })).toEqual({ sort: '-at' });
    expect(createSortSchema({ default: null, otherwise: 'the nearest first' })).toEqual({});
  });
});
