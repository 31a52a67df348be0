import { Button, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Empty } from '../ui/states.tsx';

/** What a list needs of a geofence or a route. */
export interface Place {
  readonly id: number;
  readonly name: string;
  readonly color: string | null;
}

interface PlaceListProps<Item extends Place> {
  readonly label: string;
  readonly items: readonly Item[];
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number) => void;
  /** Facts below the name. */
  readonly describe: (item: Item) => string;
  readonly icon: (item: Item) => ReactNode;
}

const rowHeightPx = 48;

/** Lists the places whose names contain the text of the search field. Renders only the rows that fit. */
export function PlaceList<Item extends Place>({ label, items, query, onQuery, ...row }: PlaceListProps<Item>) {
  const { t } = useTranslation('places');
  const wanted = query.trim().toLowerCase();
  const found = items.filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <>
      <TextInput
        type="search"
        aria-label={t('search')}
        placeholder={t('search')}
        leftSection={<IconSearch size={16} aria-hidden />}
        value={query}
        onChange={({ currentTarget }) => onQuery(currentTarget.value)}
      />
      {found.length === 0 ? (
        <Empty title={t('noMatch')}>
          <Button variant="default" onClick={() => onQuery('')}>
            {t('clearSearch')}
          </Button>
        </Empty>
      ) : (
        <Rows label={label} items={found} {...row} />
      )}
    </>
  );
}

function Rows<Item extends Place>({
  label,
  items,
  onOpen,
  describe,
  icon,
}: Omit<PlaceListProps<Item>, 'query' | 'onQuery'>) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx,
    overscan: 10,
  });
  return (
    <div className="places-list" ref={scroller}>
      <ul aria-label={label} style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const item = items[index] as Item;
          return (
            <li key={item.id} style={{ transform: `translateY(${start}px)` }}>
              <button type="button" onClick={() => onOpen(item.id)}>
                <span className="places-icon" style={item.color === null ? undefined : { color: item.color }}>
                  {icon(item)}
                </span>
                <span className="places-name">
                  <strong>{item.name}</strong>
                  <small>{describe(item)}</small>
                </span>
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}
