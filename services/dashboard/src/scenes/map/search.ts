import { type FleetSort, fleetSorts, type StateFilter } from '../../common/live/fleet-query.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import type { MapPlace } from '../../common/map/map-place.ts';
import { type OverlayName, overlayNames } from '../../common/map/overlay-names.ts';

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
}

const maxQueryLength = 100;
const stateFilters: readonly StateFilter[] = [...vehicleStates, 'alarm'];
const defaultOverlays: readonly OverlayName[] = ['geofences', 'labels'];
const noOverlays = 'none';

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseMapSearch(search: Record<string, unknown>): MapSearch {
  const { vehicle, state, group, q, sort, follow, at, layers, near } = search;
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

/** Returns latitude and longitude of an address. */
export function parsePosition(text: string): readonly [number, number] | undefined {
  const [latitude, longitude, ...more] = text.split(',').map(Number);
  if (latitude === undefined || longitude === undefined || more.length > 0) return undefined;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [latitude, longitude] : undefined;
}

/** Returns the place of the map in an address. */
export function parsePlace(text: string | undefined): MapPlace | undefined {
  if (text === undefined) return undefined;
  const [latitude, longitude, zoom] = text.split(',').map(Number);
  const position = parsePosition(`${latitude},${longitude}`);
  if (position === undefined || zoom === undefined || !(zoom >= 0 && zoom <= 24)) return undefined;
  return { latitude: position[0], longitude: position[1], zoom };
}

/** Returns a place for the address, to about a metre. */
export const formatPlace = ({ latitude, longitude, zoom }: MapPlace): string =>
  `${latitude.toFixed(5)},${longitude.toFixed(5)},${zoom.toFixed(2)}`;
