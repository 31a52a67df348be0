import { getRouteApi } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatPlace, type MapPlace, parsePlace } from '../../common/map/map-place.ts';
import { PlaceMap } from '../../common/map/place-map.tsx';
import { useFirstBounds, useMapVehicles } from '../../common/map/use-map-vehicles.ts';
import type { PlaceMark } from '../../common/map/use-place-layers.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { PlacesLayout } from '../../common/places/places-layout.tsx';
import { focusMarks, type ShapeState, useShape } from '../../common/places/use-shape.ts';
import { boundsOfRoutes, type Route, toFeatures } from '../../common/routes/model.ts';
import type { Preview } from '../../common/routes/preview.ts';
import { useRoutes } from '../../common/routes/queries.ts';
import { RouteList } from '../../common/routes/route-list.tsx';
import { NewRoute, RoutePanel } from '../../common/routes/route-panel.tsx';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';

const route = getRouteApi('/app/routes/{-$routeId}');
const addressDelayMs = 700;
const noRoutes: readonly Route[] = [];
const noMarks: readonly PlaceMark[] = [];
const newId = 'new';

/** Shows routes beside a map: the list, one route, or a new one. */
export function RoutesPage() {
  const { t } = useTranslation('places');
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
  const { features, target } = useRouteMap(routes.data ?? noRoutes, routeId, preview);
  const firstBounds = useFirstBounds(vehicles);
  if (!can('read') || (routeId === newId && !can('fleet'))) return <NoPermission />;
  return (
    <PlacesLayout
      title={t('routes')}
      main={
        <PlaceMap
          features={features}
          marks={[...(preview?.marks ?? noMarks), ...focusMarks(editing)]}
          vehicles={vehicles}
          shape={editing.shape}
          drawing={editing.drawing}
          widthM={null}
          place={parsePlace(search.at)}
          target={target ?? firstBounds}
          onShape={editing.actions.set}
          onSelect={open}
          onMove={(place, bounds) => {
            editing.actions.setBounds(bounds);
            onMove(place);
          }}
        />
      }
    >
      <RouteContent
        routeId={routeId}
        query={search.q ?? ''}
        routes={routes}
        editing={editing}
        onPreview={setPreview}
        onOpen={open}
        onQuery={(q) =>
          void navigate({ search: ({ q: _q, ...rest }) => ({ ...rest, ...(q === '' ? {} : { q }) }), replace: true })
        }
      />
    </PlacesLayout>
  );
}

/** Returns the routes for the map, and the part of the world that it shows. The form of the open one has its path. */
function useRouteMap(items: readonly Route[], routeId: string | undefined, preview: Preview | null) {
  const selectedId = routeId === undefined || routeId === newId ? null : Number(routeId);
  const features = useMemo(
    () => toFeatures(items, preview === null ? null : selectedId, preview?.path ?? null, preview?.color ?? ''),
    [items, selectedId, preview],
  );
  const selected = items.filter(({ id }) => id === selectedId);
  return { features, target: boundsOfRoutes(selected.length > 0 ? selected : items) };
}

interface RouteContentProps {
  readonly routeId: string | undefined;
  readonly query: string;
  readonly routes: ReturnType<typeof useRoutes>;
  readonly editing: ShapeState;
  readonly onPreview: (preview: Preview | null) => void;
  /** Opens a route or a new one; without an id the list. */
  readonly onOpen: (id?: number | typeof newId) => void;
  readonly onQuery: (query: string) => void;
}

/** The list, one route, or a new one. */
function RouteContent({ routeId, query, routes, editing, onPreview, onOpen, onQuery }: RouteContentProps) {
  const close = (): void => onOpen();
  if (routeId === undefined) return <RouteList routes={routes} query={query} onQuery={onQuery} onOpen={onOpen} />;
  if (routeId === newId)
    return <NewRoute editing={editing} onPreview={onPreview} onCreated={onOpen} onCancel={close} />;
  return <RoutePanel key={routeId} id={Number(routeId)} editing={editing} onPreview={onPreview} onClose={close} />;
}
