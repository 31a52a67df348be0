import { IconCircle, IconPolygon, IconRoute } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { formatPlace, type MapPlace, parsePlace } from '../../common/map/map-place.ts';
import { PlaceMap } from '../../common/map/place-map.tsx';
import type { ShapeKind } from '../../common/map/shapes.ts';
import { useFirstBounds, useMapVehicles } from '../../common/map/use-map-vehicles.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { PlacesLayout } from '../../common/places/places-layout.tsx';
import { PlacesPanel } from '../../common/places/places-panel.tsx';
import { focusMarks, useShape, widthOf } from '../../common/places/use-shape.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { boundsOfGeofences, type Geofence, toFeatures } from './model.ts';
import { GeofenceEditor } from './parts/geofence-editor.tsx';
import { NewGeofence } from './parts/new-geofence.tsx';
import { useGeofences } from './queries.ts';
import type { GeofencesSearch } from './search.ts';

const route = getRouteApi('/app/geofences/{-$geofenceId}');
const addressDelayMs = 700;
const noGeofences: readonly Geofence[] = [];
const newId = 'new';

/** Shows geofences beside a map: the list, one geofence, or a new one. */
export function GeofencesPage() {
  const { t } = useTranslation('geofences');
  const { geofenceId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const can = useCan();
  const editing = useShape();
  const geofences = useGeofences();
  const vehicles = useMapVehicles();
  const open = (id?: number | typeof newId, next: GeofencesSearch = {}): void =>
    void navigate({
      to: '/geofences/{-$geofenceId}',
      // Without a value the parameter of the current page would stay.
      params: { geofenceId: id === undefined ? undefined : String(id) },
      search: ({ q, at }) => ({ ...(q === undefined ? {} : { q }), ...(at === undefined ? {} : { at }), ...next }),
    });
  const change = (next: GeofencesSearch): void =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true });
  const onMove = useDelayed((place: MapPlace) => change({ at: formatPlace(place) }), addressDelayMs);
  const items = geofences.data ?? noGeofences;
  const selectedId = geofenceId === undefined || geofenceId === newId ? null : Number(geofenceId);
  const { shape } = editing;
  const features = useMemo(
    () => toFeatures(items, shape === null ? null : selectedId, shape),
    [items, selectedId, shape],
  );
  const selected = items.filter(({ id }) => id === selectedId);
  const firstBounds = useFirstBounds(vehicles);
  const target = boundsOfGeofences(selected.length > 0 ? selected : items) ?? firstBounds;
  if (!can('read') || (geofenceId === newId && !can('fleet'))) return <NoPermission />;
  return (
    <PlacesLayout
      title={t('title')}
      map={
        <PlaceMap
          features={features}
          marks={focusMarks(editing)}
          vehicles={vehicles}
          shape={shape}
          drawing={editing.drawing}
          widthM={widthOf(editing.drawing)}
          place={parsePlace(search.at)}
          target={target}
          onShape={editing.actions.set}
          onSelect={open}
          onMove={(place, bounds) => {
            editing.actions.setBounds(bounds);
            onMove(place);
          }}
        />
      }
    >
      {geofenceId === undefined ? (
        <GeofenceList
          geofences={geofences}
          query={search.q ?? ''}
          onQuery={(q) => change(q === '' ? ({ q: undefined } as never) : { q })}
          onOpen={open}
        />
      ) : geofenceId === newId ? (
        <NewGeofence
          key={search.type ?? 'polygon'}
          kind={search.type ?? 'polygon'}
          editing={editing}
          onKind={(type) => open(newId, type === 'polygon' ? {} : { type })}
          onCreated={(id) => open(id)}
          onCancel={() => open()}
        />
      ) : (
        <GeofenceEditor key={geofenceId} id={Number(geofenceId)} editing={editing} onClose={() => open()} />
      )}
    </PlacesLayout>
  );
}

const icons = { polygon: IconPolygon, circle: IconCircle, corridor: IconRoute } as const satisfies Readonly<
  Record<ShapeKind, unknown>
>;

interface GeofenceListProps {
  readonly geofences: ReturnType<typeof useGeofences>;
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number | typeof newId) => void;
}

function GeofenceList({ geofences, query, onQuery, onOpen }: GeofenceListProps) {
  const { t } = useTranslation('geofences');
  return (
    <PlacesPanel
      places={geofences}
      texts={{ title: t('title'), add: t('add'), empty: t('empty'), emptyText: t('emptyText') }}
      query={query}
      onQuery={onQuery}
      onOpen={onOpen}
      onAdd={() => onOpen(newId)}
      describe={({ type, inside_count: count }) => `${t(`kind.${type}`)}, ${t('inside', { count })}`}
      icon={({ type }) => {
        const Icon = icons[type];
        return <Icon size={20} aria-hidden />;
      }}
    />
  );
}
