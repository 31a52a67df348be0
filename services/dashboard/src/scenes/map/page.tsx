import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useIsStale } from '../../common/live/connection-age.ts';
import type { FleetQuery } from '../../common/live/fleet-query.ts';
import { useLiveConnection, useLiveStore } from '../../common/live/live-context.ts';
import type { FleetMap } from '../../common/map/fleet-map.ts';
import { FleetMapView } from '../../common/map/fleet-map-view.tsx';
import { formatPlace, type MapPlace, parsePlace, parsePosition } from '../../common/map/map-place.ts';
import { useDelayed } from '../../common/navigation/use-delayed.ts';
import { BottomSheet } from './parts/bottom-sheet.tsx';
import { FleetSide } from './parts/fleet-side.tsx';
import { MapToolbar } from './parts/map-toolbar.tsx';
import { NearestPanel } from './parts/nearest-panel.tsx';
import { VehiclePanel } from './parts/vehicle-panel.tsx';
import { useGeofenceFeatures, useGroups, useRouteFeatures } from './queries.ts';
import { formatOverlays, type MapSearch, parseOverlays } from './search.ts';
import './map.css';

const route = getRouteApi('/app/map');
/** The address follows the map this long after its last move. */
const addressDelayMs = 700;

/** Shows the live map: every visible vehicle, the list with its filters, and a panel for the selected one. */
export function MapPage() {
  const { t } = useTranslation('map');
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const map = useRef<FleetMap | null>(null);
  const groups = useGroups();
  const [collapsedIds, setCollapsedIds] = useState<readonly number[]>([]);
  useFleetQuery(search, groups, collapsedIds);
  const overlays = useMemo(() => parseOverlays(search.layers), [search.layers]);
  const change = (next: Partial<Record<keyof MapSearch, unknown>>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }) as MapSearch, replace: true });
  const onMove = useDelayed((place: MapPlace) => change({ at: formatPlace(place) }), addressDelayMs);
  const step = useStep(search.vehicle, (vehicle) => change({ vehicle }));
  const near = search.near === undefined ? undefined : parsePosition(search.near);
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
      <FleetMapView
        selectedId={search.vehicle}
        isFollowing={search.follow === true}
        isStale={useIsStale()}
        place={parsePlace(search.at)}
        overlays={overlays}
        geofences={useGeofenceFeatures(overlays.includes('geofences'))}
        routes={useRouteFeatures(overlays.includes('routes'))}
        onSelect={(vehicle) => change({ vehicle, follow: undefined })}
        onMove={onMove}
        onDrag={() => change({ follow: undefined })}
        onPlace={(latitude, longitude) => change({ near: `${latitude.toFixed(5)},${longitude.toFixed(5)}` })}
        onStep={step}
        onReady={(created) => {
          map.current = created;
        }}
      />
      <MapToolbar
        overlays={overlays}
        onOverlays={(visible) => change({ layers: formatOverlays(visible) })}
        onFit={() => map.current?.fit()}
        onNearest={() => {
          const center = map.current?.center;
          if (center !== undefined) change({ near: center.map((value) => value.toFixed(5)).join(',') });
        }}
      />
      {search.vehicle === undefined ? null : (
        <VehiclePanel
          key={search.vehicle}
          vehicleId={search.vehicle}
          isFollowing={search.follow === true}
          onFollow={(isFollowing) => change({ follow: isFollowing ? true : undefined })}
          onClose={() => change({ vehicle: undefined, follow: undefined })}
        />
      )}
      {near === undefined || search.vehicle !== undefined ? null : (
        <NearestPanel
          place={near}
          onSelect={(vehicle) => change({ vehicle })}
          onClose={() => change({ near: undefined })}
        />
      )}
    </div>
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
