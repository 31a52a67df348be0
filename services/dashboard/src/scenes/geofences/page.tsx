import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { GeofenceEditor } from '../../common/geofences/geofence-editor.tsx';
import { GeofenceList } from '../../common/geofences/geofence-list.tsx';
import { boundsOfGeofences, type Geofence, toFeatures } from '../../common/geofences/model.ts';
import { NewGeofence } from '../../common/geofences/new-geofence.tsx';
import { useGeofences } from '../../common/geofences/queries.ts';
import { formatPlace, type MapPlace, parsePlace } from '../../common/map/map-place.ts';
import { PlaceMap } from '../../common/map/place-map.tsx';
import type { Shape } from '../../common/map/shapes.ts';
import { useFirstBounds, useMapVehicles } from '../../common/map/use-map-vehicles.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { PlacesLayout } from '../../common/places/places-layout.tsx';
import { focusMarks, type ShapeState, useShape, widthOf } from '../../common/places/use-shape.ts';
import { useCan } from '../../common/session/session-context.ts';
import { NoPermission } from '../../common/ui/no-permission.tsx';
import type { GeofencesSearch } from './search.ts';

const route = getRouteApi('/app/geofences/{-$geofenceId}');
const addressDelayMs = 700;
const noGeofences: readonly Geofence[] = [];
const newId = 'new';

/** Shows geofences beside a map: the list, one geofence, or a new one. */
export function GeofencesPage() {
  const { t } = useTranslation('places');
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
  const { shape } = editing;
  const { features, target } = useGeofenceMap(geofences.data ?? noGeofences, geofenceId, shape);
  const firstBounds = useFirstBounds(vehicles);
  if (!can('read') || (geofenceId === newId && !can('fleet'))) return <NoPermission />;
  return (
    <PlacesLayout
      title={t('geofences')}
      main={
        <PlaceMap
          features={features}
          marks={focusMarks(editing)}
          vehicles={vehicles}
          shape={shape}
          drawing={editing.drawing}
          widthM={widthOf(editing.drawing)}
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
      <GeofenceContent
        geofenceId={geofenceId}
        search={search}
        geofences={geofences}
        editing={editing}
        onOpen={open}
        onQuery={(q) => change(q === '' ? ({ q: undefined } as never) : { q })}
      />
    </PlacesLayout>
  );
}

/** Returns the geofences for the map, and the part of the world that it shows. The editor has the shape of the open one. */
function useGeofenceMap(items: readonly Geofence[], geofenceId: string | undefined, shape: Shape | null) {
  const selectedId = geofenceId === undefined || geofenceId === newId ? null : Number(geofenceId);
  const features = useMemo(
    () => toFeatures(items, shape === null ? null : selectedId, shape),
    [items, selectedId, shape],
  );
  const selected = items.filter(({ id }) => id === selectedId);
  return { features, target: boundsOfGeofences(selected.length > 0 ? selected : items) };
}

interface GeofenceContentProps {
  readonly geofenceId: string | undefined;
  readonly search: GeofencesSearch;
  readonly geofences: ReturnType<typeof useGeofences>;
  readonly editing: ShapeState;
  /** Opens a geofence or a new one; without an id the list. */
  readonly onOpen: (id?: number | typeof newId, search?: GeofencesSearch) => void;
  readonly onQuery: (query: string) => void;
}

/** The list, one geofence, or a new one. */
function GeofenceContent({ geofenceId, search, geofences, editing, onOpen, onQuery }: GeofenceContentProps) {
  if (geofenceId === undefined)
    return <GeofenceList geofences={geofences} query={search.q ?? ''} onQuery={onQuery} onOpen={onOpen} />;
  if (geofenceId !== newId)
    return <GeofenceEditor key={geofenceId} id={Number(geofenceId)} editing={editing} onClose={() => onOpen()} />;
  const kind = search.type ?? 'polygon';
  return (
    <NewGeofence
      key={kind}
      kind={kind}
      editing={editing}
      onKind={(type) => onOpen(newId, type === 'polygon' ? {} : { type })}
      onCreated={onOpen}
      onCancel={() => onOpen()}
    />
  );
}
