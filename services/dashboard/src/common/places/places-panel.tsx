import { Button } from '@mantine/core';
import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useCan } from '../session/session-context.ts';
import { Empty, Failure, Loading } from '../ui/states.tsx';
import { type Place, PlaceList } from './place-list.tsx';

interface PlacesPanelProps<Item extends Place> {
  readonly places: UseQueryResult<readonly Item[]>;
  readonly texts: { readonly title: string; readonly add: string; readonly empty: string; readonly emptyText: string };
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number) => void;
  readonly onAdd: () => void;
  readonly describe: (item: Item) => string;
  readonly icon: (item: Item) => ReactNode;
}

/** Lists places with a button that adds one, and the states of a list: loading, failed and empty. */
export function PlacesPanel<Item extends Place>({ places, texts, onAdd, ...list }: PlacesPanelProps<Item>) {
  const can = useCan();
  if (places.isPending) return <Loading />;
  if (places.isError) return <Failure error={places.error} onRetry={() => void places.refetch()} />;
  const add = can('fleet') ? <Button onClick={onAdd}>{texts.add}</Button> : null;
  if (places.data.length === 0)
    return (
      <Empty title={texts.empty}>
        <p>{texts.emptyText}</p>
        {add}
      </Empty>
    );
  return (
    <>
      {add}
      <PlaceList label={texts.title} items={places.data} {...list} />
    </>
  );
}
