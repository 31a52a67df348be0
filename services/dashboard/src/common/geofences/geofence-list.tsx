import { IconCircle, IconPolygon, IconRoute } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { ShapeKind } from '../map/shapes.ts';
import { PlacesPanel } from '../places/places-panel.tsx';
import type { useGeofences } from './queries.ts';

const icons = { polygon: IconPolygon, circle: IconCircle, corridor: IconRoute } as const satisfies Readonly<
  Record<ShapeKind, unknown>
>;

interface GeofenceListProps {
  readonly geofences: ReturnType<typeof useGeofences>;
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number | 'new') => void;
}

/** Lists all geofences, with a button that adds one. */
export function GeofenceList({ geofences, query, onQuery, onOpen }: GeofenceListProps) {
  const { t } = useTranslation('geofences');
  return (
    <PlacesPanel
      places={geofences}
      texts={{ title: t('title'), add: t('add'), empty: t('empty'), emptyText: t('emptyText') }}
      query={query}
      onQuery={onQuery}
      onOpen={onOpen}
      onAdd={() => onOpen('new')}
      describe={({ type, inside_count: count }) => `${t(`kind.${type}`)}, ${t('inside', { count })}`}
      icon={({ type }) => {
        const Icon = icons[type];
        return <Icon size={20} aria-hidden />;
      }}
    />
  );
}
