import { describe, expect, it } from '@jest/globals';
import { QueryClient } from '@tanstack/react-query';
import { storeRecord } from './store-record.ts';

describe('storeRecord', () => {
  it('keeps the saved record when an older read ends later', async () => {
    const queries = new QueryClient();
    const queryKey = ['getDriver', 1];
    queries.setQueryData(queryKey, { version: 1 });
    let finish = (_record: unknown): void => undefined;
    const read = queries
      .fetchQuery({ queryKey, queryFn: () => new Promise((resolve) => (finish = resolve)), staleTime: 0 })
      .catch(() => undefined);
    await storeRecord(queries, queryKey, { version: 2 });
    finish({ version: 1 });
    await read;
    expect(queries.getQueryData(queryKey)).toEqual({ version: 2 });
    queries.clear();
  });
});
