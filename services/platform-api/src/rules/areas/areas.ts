import Flatbush from 'flatbush';
import type { Geofence } from '../../domains/geofences/schema.ts';
import { unwrapLongitude } from '../../geometry/positions.ts';
import { type Area, toArea } from './area.ts';

const none: readonly Area[] = [];

/** Holds the geofences of a vehicle, with a spatial index. */
export class Areas {
  /** Concatenated codes of all. */
  readonly codes: string;
  /** Lowest speed limit of all; infinite without one. */
  readonly lowestLimitKmh: number;
  readonly #areas: readonly Area[];
  readonly #byId: ReadonlyMap<number, Area>;
  readonly #boxes: readonly Area[];
  /** Absent for an empty list. */
  readonly #index: Flatbush | undefined;

  constructor(geofences: readonly Geofence[]) {
    this.#areas = geofences.map(toArea).sort((a, b) => a.geofence._id - b.geofence._id);
    this.#byId = new Map(this.#areas.map((area) => [area.geofence._id, area]));
    this.codes = this.#areas.map(({ code }) => code).join('');
    this.lowestLimitKmh = Math.min(
      ...this.#areas.map(({ geofence }) => geofence.speedLimitKmh ?? Number.POSITIVE_INFINITY),
    );
    // Areas across the date line are on both sides of the map.
    const across = this.#areas.filter(({ bounds }) => bounds.maxLng > 180);
    this.#boxes = [...this.#areas, ...across];
    if (this.#boxes.length === 0) return;
    const index = new Flatbush(this.#boxes.length);
    for (const { bounds } of this.#areas) index.add(bounds.minLng, bounds.minLat, bounds.maxLng, bounds.maxLat);
    for (const { bounds } of across) index.add(bounds.minLng - 360, bounds.minLat, bounds.maxLng - 360, bounds.maxLat);
    index.finish();
    this.#index = index;
  }

  get all(): readonly Area[] {
    return this.#areas;
  }

  byId(id: number): Area | undefined {
    return this.#byId.get(id);
  }

  /** Returns areas whose bounds intersect a segment, each once, in no order. */
  findAlong(fromLat: number, fromLng: number, toLat: number, toLng: number): readonly Area[] {
    if (this.#index === undefined) return none;
    const end = unwrapLongitude(toLng, fromLng);
    const [south, north] = [Math.min(fromLat, toLat), Math.max(fromLat, toLat)];
    const [west, east] = [Math.min(fromLng, end), Math.max(fromLng, end)];
    const found = this.#index.search(west, south, east, north);
    if (east >= 180) found.push(...this.#index.search(west - 360, south, east - 360, north));
    if (west <= -180) found.push(...this.#index.search(west + 360, south, east + 360, north));
    if (found.length === 0) return none;
    const touched = found.flatMap((at) => this.#boxes[at] ?? []);
    return touched.length === 1 ? touched : [...new Set(touched)];
  }
}

const known = new WeakMap<readonly Geofence[], Areas>();

/** Returns the index of a list of geofences, created once for each list. */
export function toAreas(geofences: readonly Geofence[]): Areas {
  const found = known.get(geofences);
  if (found !== undefined) return found;
  const made = new Areas(geofences);
  known.set(geofences, made);
  return made;
}
