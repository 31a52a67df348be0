import { parsePlace } from '../../common/map/map-place.ts';

/** State of the page in its address. Defaults are left out. */
interface RoutesSearch {
  readonly q?: string;
  /** Latitude, longitude and zoom of the map. */
  readonly at?: string;
}

/** Returns the valid part of a query string; invalid values are dropped. */
export const parseRoutesSearch = ({ q, at }: Record<string, unknown>): RoutesSearch => ({
  ...((typeof q === 'string' || typeof q === 'number') && q !== '' ? { q: String(q) } : {}),
  ...(typeof at === 'string' && parsePlace(at) !== undefined ? { at } : {}),
});
