import { IconRoute } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../format/preferences-context.ts';
import { PlacesPanel } from '../places/places-panel.tsx';
import type { useRoutes } from './queries.ts';

interface RouteListProps {
  readonly routes: ReturnType<typeof useRoutes>;
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number | 'new') => void;
}

/** Lists all routes, with a button that adds one. */
export function RouteList({ routes, query, onQuery, onOpen }: RouteListProps) {
  const { t } = useTranslation('routes');
  const format = useFormat();
  return (
    <PlacesPanel
      places={routes}
      texts={{ title: t('title'), add: t('add'), empty: t('empty'), emptyText: t('emptyText') }}
      query={query}
      onQuery={onQuery}
      onOpen={onOpen}
      onAdd={() => onOpen('new')}
      describe={({ distance_m: lengthM, vehicle_ids: ids }) =>
        `${format.distance(lengthM / 1_000)}, ${t('linked', { count: ids.length })}`
      }
      icon={() => <IconRoute size={20} aria-hidden />}
    />
  );
}
