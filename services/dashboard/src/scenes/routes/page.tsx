import { IconRoute } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../common/format/preferences-context.ts';
import { formatPlace, type MapPlace, parsePlace } from '../../common/map/map-place.ts';
import { PlaceMap, type PlaceMark } from '../../common/map/place-map.tsx';
import { useFirstBounds, useMapVehicles } from '../../common/map/use-map-vehicles.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { PlacesLayout } from '../../common/places/places-layout.tsx';
import { PlacesPanel } from '../../common/places/places-panel.tsx';
import { focusMarks, useShape } from '../../common/places/use-shape.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import { boundsOfRoutes, type Route, toFeatures } from './model.ts';
import { NewRoute, RoutePanel } from './parts/route-panel.tsx';
import type { Preview } from './preview.ts';
import { useRoutes } from './queries.ts';

const route = getRouteApi('/app/routes/{-$routeId}');
const addressDelayMs = 700;
const noRoutes: readonly Route[] = [];
const noMarks: readonly PlaceMark[] = [];
const newId = 'new';

/** Shows routes beside a map: the list, one route, or a new one. */
export function RoutesPage() {
  const { t } = useTranslation('routes');
  const { routeId } = route.useParams();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const can = useCan();
  const editing = useShape();
  const routes = useRoutes();
  const vehicles = useMapVehicles();
  const [preview, setPreview] = useState<Preview | null>(null);
  const open = (id?: number | typeof newId): void =>
    void navigate({
      to: '/routes/{-$routeId}',
      // Without a value the parameter of the current page would stay.
      params: { routeId: id === undefined ? undefined : String(id) },
      search: (before) => before,
    });
  const onMove = useDelayed(
    (place: MapPlace) => void navigate({ search: (before) => ({ ...before, at: formatPlace(place) }), replace: true }),
    addressDelayMs,
  );
  const items = routes.data ?? noRoutes;
  const selectedId = routeId === undefined || routeId === newId ? null : Number(routeId);
  const features = useMemo(
    () => toFeatures(items, preview === null ? null : selectedId, preview?.path ?? null, preview?.color ?? ''),
    [items, selectedId, preview],
  );
  const selected = items.filter(({ id }) => id === selectedId);
  const firstBounds = useFirstBounds(vehicles);
  if (!can('read') || (routeId === newId && !can('fleet'))) return <NoPermission />;
  return (
    <PlacesLayout
      title={t('title')}
      map={
        <PlaceMap
          features={features}
          marks={[...(preview?.marks ?? noMarks), ...focusMarks(editing)]}
          vehicles={vehicles}
          shape={editing.shape}
          drawing={editing.drawing}
          widthM={null}
          place={parsePlace(search.at)}
          target={boundsOfRoutes(selected.length > 0 ? selected : items) ?? firstBounds}
          onShape={editing.actions.set}
          onSelect={open}
          onMove={(place, bounds) => {
            editing.actions.setBounds(bounds);
            onMove(place);
          }}
        />
      }
    >
      {routeId === undefined ? (
        <RouteList
          routes={routes}
          query={search.q ?? ''}
          onQuery={(q) =>
            void navigate({
              search: ({ at }) => ({ ...(at === undefined ? {} : { at }), ...(q === '' ? {} : { q }) }),
              replace: true,
            })
          }
          onOpen={open}
        />
      ) : routeId === newId ? (
        <NewRoute editing={editing} onPreview={setPreview} onCreated={open} onCancel={() => open()} />
      ) : (
        <RoutePanel
          key={routeId}
          id={Number(routeId)}
          editing={editing}
          onPreview={setPreview}
          onClose={() => open()}
        />
      )}
    </PlacesLayout>
  );
}

interface RouteListProps {
  readonly routes: ReturnType<typeof useRoutes>;
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly onOpen: (id: number | typeof newId) => void;
}

function RouteList({ routes, query, onQuery, onOpen }: RouteListProps) {
  const { t } = useTranslation('routes');
  const format = useFormat();
  return (
    <PlacesPanel
      places={routes}
      texts={{ title: t('title'), add: t('add'), empty: t('empty'), emptyText: t('emptyText') }}
      query={query}
      onQuery={onQuery}
      onOpen={onOpen}
      onAdd={() => onOpen(newId)}
      describe={({ distance_m: lengthM, vehicle_ids: ids }) =>
        `${format.distance(lengthM / 1_000)}, ${t('linked', { count: ids.length })}`
      }
      icon={() => <IconRoute size={20} aria-hidden />}
    />
  );
}
