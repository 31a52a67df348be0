import { parsePlace } from '../../common/map/map-place.ts';
import { type ShapeKind, shapeKinds } from '../../common/map/shapes.ts';

/** State of the page in its address. Defaults are left out. */
export interface GeofencesSearch {
  readonly q?: string;
  /** Latitude, longitude and zoom of the map. */
  readonly at?: string;
  /** Kind of a new geofence; a polygon without it. */
  readonly type?: ShapeKind;
}

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseGeofencesSearch({ q, at, type }: Record<string, unknown>): GeofencesSearch {
  const kind = shapeKinds.find((each) => each === type && each !== 'polygon');
  return {
    ...((typeof q === 'string' || typeof q === 'number') && q !== '' ? { q: String(q) } : {}),
    ...(typeof at === 'string' && parsePlace(at) !== undefined ? { at } : {}),
    ...(kind === undefined ? {} : { type: kind }),
  };
}
