import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { Failure, Loading } from './states.tsx';

interface ListStatesProps<Item> {
  readonly query: Pick<UseQueryResult, 'isPending' | 'isError' | 'error' | 'refetch'>;
  /** The rows; undefined before they are known. */
  readonly items: readonly Item[] | undefined;
  /** Shown if there are no rows. */
  readonly empty: ReactNode;
  readonly children: (items: readonly Item[]) => ReactNode;
}

/** Shows the rows of a list, or why there are none: it loads, it failed, or it is empty. */
export function ListStates<Item>({ query, items, empty, children }: ListStatesProps<Item>) {
  return (
    <>
      {query.isPending ? <Loading /> : null}
      {query.isError ? <Failure error={query.error} onRetry={() => void query.refetch()} /> : null}
      {items === undefined ? null : items.length === 0 ? empty : children(items)}
    </>
  );
}
