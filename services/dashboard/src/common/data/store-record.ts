import type { QueryClient, QueryKey } from '@tanstack/react-query';

/** Puts a saved record into the cache. Cancels a read that began before, which would replace it by an older one. */
export async function storeRecord(queries: QueryClient, queryKey: QueryKey, record: unknown): Promise<void> {
  await queries.cancelQueries({ queryKey });
  queries.setQueryData(queryKey, record);
}
