import { getRouteApi } from '@tanstack/react-router';
import type { FeatureCollection } from 'geojson';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFolders } from '../../common/fleet/use-folders.ts';
import { useIsStale } from '../../common/live/connection-age.ts';
import type { FleetQuery } from '../../common/live/fleet-query.ts';
import { useLiveConnection, useLiveStore } from '../../common/live/live-context.ts';
import type { FleetMap } from '../../common/map/fleet-map.ts';
import { FleetMapView } from '../../common/map/fleet-map-view.tsx';
import { formatPlace, type MapPlace, parsePlace, parsePosition } from '../../common/map/map-place.ts';
import type { OverlayName } from '../../common/map/overlay-names.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { useCan } from '../../common/session/session-context.ts';
import { boundsOfPlace } from './model.ts';
import { BottomSheet } from './parts/bottom-sheet.tsx';
import { DrawMenu } from './parts/draw-menu.tsx';
import { FleetSide } from './parts/fleet-side.tsx';
import { MapToolbar } from './parts/map-toolbar.tsx';
import { NearestPanel } from './parts/nearest-panel.tsx';
import { VehiclePanel } from './parts/vehicle-panel.tsx';
import { useGeofenceFeatures, useRouteFeatures } from './queries.ts';
import { type Edit, formatEdit, formatOverlays, type MapSearch, parseEdit, parseOverlays } from './search.ts';
import { useOthers, usePlaceEditing } from './use-place-editing.ts';
import './map.css';

const route = getRouteApi('/app/map');
/** The address follows the map this long after its last move. */
const addressDelayMs = 700;
const overlayOf = { geofence: 'geofences', route: 'routes' } as const;

/** The forms of geofences and routes are loaded when the first one is opened. */
const PlaceEditor = lazy(() => import('./parts/place-editor.tsx').then((module) => ({ default: module.PlaceEditor })));

/** Changes the search parameters of the page; undefined removes one. */
type Change = (next: Partial<Record<keyof MapSearch, unknown>>) => void;

/** Shows the live map: every visible vehicle, the list with its filters, and a panel for the selected one. */
export function MapPage() {
  const { t } = useTranslation('map');
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { groups } = useFolders();
  const [collapsedIds, setCollapsedIds] = useState<readonly number[]>([]);
  useFleetQuery(search, groups, collapsedIds);
  const change: Change = (next) =>
    void navigate({ search: (before) => ({ ...before, ...next }) as MapSearch, replace: true });
  return (
    <div className="map-page">
      <h1 className="visually-hidden">{t('title')}</h1>
      <BottomSheet>
        <FleetSide
          search={search}
          groups={groups}
          collapsedIds={collapsedIds}
          onCollapse={setCollapsedIds}
          onChange={change}
        />
      </BottomSheet>
      <MapWithPanels search={search} onChange={change} />
    </div>
  );
}

interface MapWithPanelsProps {
  readonly search: MapSearch;
  readonly onChange: Change;
}

/** The map with its tools, and the panel of what is selected or drawn. */
function MapWithPanels({ search, onChange: change }: MapWithPanelsProps) {
  const map = useRef<FleetMap | null>(null);
  const can = useCan();
  const overlays = useMemo(() => parseOverlays(search.layers), [search.layers]);
  const onMove = useDelayed((place: MapPlace) => change({ at: formatPlace(place) }), addressDelayMs);
  const step = useStep(search.vehicle, (vehicle) => change({ vehicle }));
  const found = parseEdit(search.edit);
  // A new place requires the permission; one that exists has its facts.
  const edit = found?.id === null && !can('fleet') ? undefined : found;
  const { editing, edited, editedId, setPreview } = usePlaceEditing(edit);
  const geofences = useGeofenceFeatures(overlays.includes('geofences'));
  const routes = useRouteFeatures(overlays.includes('routes'));
  const showEdit = (next: Edit | null): void =>
    change(
      next === null
        ? { edit: undefined }
        : { edit: formatEdit(next), follow: undefined, layers: formatOverlays([...overlays, overlayOf[next.kind]]) },
    );
  return (
    <>
      <FleetMapView
        selectedId={search.vehicle}
        isFollowing={search.follow === true}
        isStale={useIsStale()}
        place={parsePlace(search.at)}
        overlays={overlays}
        geofences={useOthers(geofences, edit?.kind === 'geofence' ? editedId : null)}
        routes={useOthers(routes, edit?.kind === 'route' ? editedId : null)}
        edited={edited}
        onSelect={(vehicle) => change({ vehicle, follow: undefined })}
        onArea={({ kind, id }) => showEdit({ kind, id, shape: 'polygon' })}
        onMove={(place, bounds) => {
          editing.actions.setBounds(bounds);
          onMove(place);
        }}
        onDrag={() => change({ follow: undefined })}
        onPlace={(latitude, longitude) => change({ near: `${latitude.toFixed(5)},${longitude.toFixed(5)}` })}
        onStep={step}
        onReady={(created) => {
          map.current = created;
        }}
      />
      <MapTools
        map={map}
        overlays={overlays}
        geofences={geofences}
        routes={routes}
        onChange={change}
        onEdit={showEdit}
      />
      {edit === undefined ? (
        <SelectionPanel search={search} onChange={change} />
      ) : (
        <Suspense>
          <PlaceEditor edit={edit} editing={editing} onPreview={setPreview} onEdit={showEdit} />
        </Suspense>
      )}
    </>
  );
}

interface MapToolsProps {
  readonly map: { readonly current: FleetMap | null };
  readonly overlays: readonly OverlayName[];
  readonly geofences: FeatureCollection;
  readonly routes: FeatureCollection;
  readonly onChange: Change;
  readonly onEdit: (edit: Edit) => void;
}

function MapTools({ map, overlays, geofences, routes, onChange: change, onEdit }: MapToolsProps) {
  return (
    <MapToolbar
      overlays={overlays}
      onOverlays={(visible) => change({ layers: formatOverlays(visible) })}
      onFit={() => map.current?.fit()}
      onNearest={() => {
        const center = map.current?.center;
        if (center !== undefined) change({ near: center.map((value) => value.toFixed(5)).join(',') });
      }}
    >
      <DrawMenu
        geofences={geofences}
        routes={routes}
        onEdit={(next) => {
          const bounds = boundsOfPlace(next, geofences, routes);
          if (bounds !== null) map.current?.showBounds(bounds);
          onEdit(next);
        }}
      />
    </MapToolbar>
  );
}

/** The panel of the selected vehicle, or of the vehicles near a place. */
function SelectionPanel({ search, onChange: change }: MapWithPanelsProps) {
  const near = search.near === undefined ? undefined : parsePosition(search.near);
  if (search.vehicle !== undefined)
    return (
      <VehiclePanel
        key={search.vehicle}
        vehicleId={search.vehicle}
        isFollowing={search.follow === true}
        onFollow={(isFollowing) => change({ follow: isFollowing ? true : undefined })}
        onClose={() => change({ vehicle: undefined, follow: undefined })}
      />
    );
  return near === undefined ? null : (
    <NearestPanel
      place={near}
      onSelect={(vehicle) => change({ vehicle })}
      onClose={() => change({ near: undefined })}
    />
  );
}

/** Sends filters and order to the worker. */
function useFleetQuery(search: MapSearch, groups: FleetQuery['groups'], collapsedIds: readonly number[]): void {
  const getConnection = useLiveConnection();
  const { state, q, group, sort = 'state' } = search;
  useEffect(() => {
    const nodes = groups.map(({ id, parentId, depth }) => ({ id, parentId, depth }));
    getConnection()?.setQuery({ state, text: q, groupId: group, sort, groups: nodes, collapsedIds });
  }, [getConnection, state, q, group, sort, groups, collapsedIds]);
}

/** Returns a function that steps through the vehicles of the list. */
function useStep(selectedId: number | undefined, onSelect: (vehicleId: number) => void) {
  const store = useLiveStore();
  return (direction: 1 | -1): void => {
    const { rows } = store.view;
    const slots = [...rows].filter((slot, at) => at % 2 === 0 && slot >= 0);
    if (slots.length === 0) return;
    const selected = selectedId === undefined ? -1 : slots.indexOf(store.findSlot(selectedId) ?? -1);
    const next = selected === -1 ? (direction === 1 ? 0 : slots.length - 1) : selected + direction;
    const vehicle = store.vehicleAt(slots[(next + slots.length) % slots.length] ?? -1);
    if (vehicle !== undefined) onSelect(vehicle.id);
  };
}
