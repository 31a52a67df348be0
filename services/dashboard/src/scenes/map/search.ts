import { type FleetSort, fleetSorts, type StateFilter } from '../../common/live/fleet-query.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import { parsePlace, parsePosition } from '../../common/map/map-place.ts';
import { type OverlayName, overlayNames } from '../../common/map/overlay-names.ts';
import { type ShapeKind, shapeKinds } from '../../common/map/shapes.ts';

/** State of the map page in its address. Defaults are left out. */
export interface MapSearch {
  readonly vehicle?: number;
  readonly state?: StateFilter;
  readonly group?: number;
  readonly q?: string;
  readonly sort?: FleetSort;
  readonly follow?: true;
  /** Latitude, longitude and zoom of the map. */
  readonly at?: string;
  /** Layers on the map, separated by commas; `none` without any. */
  readonly layers?: string;
  /** Latitude and longitude of a place, whose nearest vehicles are shown. */
  readonly near?: string;
  /** A geofence or a route that is drawn or changed on the map, such as `geofence.7`, `geofence.circle` or `route.new`. */
  readonly edit?: string;
}

/** A geofence or a route that is drawn or changed on the map. */
export interface Edit {
  readonly kind: 'geofence' | 'route';
  /** Null for a new one. */
  readonly id: number | null;
  /** Shape of a new geofence. */
  readonly shape: ShapeKind;
}

const editPattern = /^(geofence|route)\.(\d{1,9}|new|polygon|circle|corridor)$/;

/** Returns the place of an address that is drawn or changed. */
export function parseEdit(text: string | undefined): Edit | undefined {
  const [, kind, rest = ''] = editPattern.exec(text ?? '') ?? [];
  if (kind !== 'geofence' && kind !== 'route') return undefined;
  const id = /^\d+$/.test(rest) ? Number(rest) : null;
  return { kind, id, shape: shapeKinds.find((shape) => shape === rest) ?? 'polygon' };
}

export const formatEdit = ({ kind, id, shape }: Edit): string => `${kind}.${id ?? (kind === 'route' ? 'new' : shape)}`;

const maxQueryLength = 100;
const stateFilters: readonly StateFilter[] = [...vehicleStates, 'alarm'];
const defaultOverlays: readonly OverlayName[] = ['geofences', 'labels'];
const noOverlays = 'none';

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseMapSearch(search: Record<string, unknown>): MapSearch {
  const { vehicle, state, group, q, sort, follow, at, layers, near, edit } = search;
  return {
    ...(isId(vehicle) ? { vehicle } : {}),
    ...(stateFilters.includes(state as StateFilter) ? { state: state as StateFilter } : {}),
    ...(isId(group) ? { group } : {}),
    ...(typeof q === 'string' || typeof q === 'number' ? readQuery(String(q)) : {}),
    ...(sort !== 'state' && fleetSorts.includes(sort as FleetSort) ? { sort: sort as FleetSort } : {}),
    ...(follow === true ? { follow } : {}),
    ...(typeof at === 'string' && parsePlace(at) !== undefined ? { at } : {}),
    ...(typeof layers === 'string' ? readLayers(layers) : {}),
    ...(typeof near === 'string' && parsePosition(near) !== undefined ? { near } : {}),
    ...(typeof edit === 'string' && parseEdit(edit) !== undefined ? { edit } : {}),
  };
}

const isId = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0;

const readQuery = (q: string): Pick<MapSearch, 'q'> => (q === '' ? {} : { q: q.slice(0, maxQueryLength) });

const readLayers = (layers: string): Pick<MapSearch, 'layers'> => {
  const written = formatOverlays(parseOverlays(layers));
  return written === undefined ? {} : { layers: written };
};

/** Returns the layers of an address; those that the page shows by default without any. */
export const parseOverlays = (layers: string | undefined): readonly OverlayName[] =>
  layers === undefined ? defaultOverlays : overlayNames.filter((name) => layers.split(',').includes(name));

/** Returns the layers for the address; undefined for the default. */
export function formatOverlays(overlays: readonly OverlayName[]): string | undefined {
  const written = overlayNames.filter((name) => overlays.includes(name)).join(',');
  return written === defaultOverlays.join(',') ? undefined : written || noOverlays;
}
