import { computeBounds, isWithin } from '../../geometry/bounds.ts';
import { lineLengthM, nearestOnLine } from '../../geometry/lines.ts';
import type { Position } from '../../geometry/positions.ts';
import { isObject, type JsonObject, looseNumberOf, objectsOf, positionOf } from '../../maps/reading.ts';
import { readCsv } from './csv.ts';
import type { TollGateFields, TollRate } from './schema.ts';

/** The gates of a file, and the numbers of its invalid rows (from 1, without the header). */
interface ParsedFile {
  readonly gates: readonly TollGateFields[];
  readonly invalidRows: readonly number[];
}

/**
 * Parses a file of toll gates: JSON (a list, or `{"toll_gates": []}`, of records as in the API), or else CSV with a
 * header.
 */
export function readTollGates(text: string): ParsedFile {
  const rows = /^\s*[[{]/.test(text) ? jsonRows(text) : csvRows(text);
  const gates: TollGateFields[] = [];
  const invalidRows: number[] = [];
  for (const [at, row] of rows.entries()) {
    const gate = gateOf(row);
    if (gate === null) invalidRows.push(at + 1);
    else gates.push(gate);
  }
  return { gates, invalidRows };
}

function jsonRows(text: string): JsonObject[] {
  const document: unknown = JSON.parse(text);
  return objectsOf(isObject(document) ? document['toll_gates'] : document);
}

/** Prices are in the columns `rate_<class>_single`, `_return` and `_monthly`, with one `currency`. */
function csvRows(text: string): JsonObject[] {
  const [header = [], ...rows] = readCsv(text);
  return rows.map((row) => {
    const fields = Object.fromEntries(header.map((name, at) => [name, row[at] ?? '']));
    const classes = new Set(header.flatMap((name) => /^rate_(.+)_(?:single|return|monthly)$/.exec(name)?.[1] ?? []));
    const rates = [...classes].map((vehicleClass) => ({
      vehicle_class: vehicleClass,
      single: fields[`rate_${vehicleClass}_single`],
      return: fields[`rate_${vehicleClass}_return`],
      monthly: fields[`rate_${vehicleClass}_monthly`],
      currency: fields['currency'],
    }));
    return { ...fields, rates: rates.filter(({ single }) => single !== undefined && single !== '') };
  });
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim().slice(0, 200) : null;

function gateOf(row: JsonObject): TollGateFields | null {
  const position = positionOf(looseNumberOf(row['latitude']), looseNumberOf(row['longitude']));
  const [name, country] = [textOf(row['name']), textOf(row['country'])];
  const rates = objectsOf(row['rates']).map(rateOf);
  const effectiveFrom = textOf(row['effective_from']);
  const isDate = effectiveFrom === null || /^\d{4}-\d{2}-\d{2}$/.test(effectiveFrom);
  if (position === null || name === null || country === null || rates.includes(null) || !isDate) return null;
  return {
    name,
    latitude: position[0],
    longitude: position[1],
    highway: textOf(row['highway']),
    city: textOf(row['city']),
    state: textOf(row['state']),
    country,
    operator: textOf(row['operator']),
    direction: textOf(row['direction']),
    rates: rates.filter((rate) => rate !== null),
    effectiveFrom,
    source: textOf(row['source']) ?? 'file',
  };
}

function rateOf(rate: JsonObject): TollRate | null {
  const amount = (name: string): number | null => {
    const value = looseNumberOf(rate[name]);
    return value !== null && Number.isSafeInteger(value) && value >= 0 ? value : null;
  };
  const [vehicleClass, single, currency] = [textOf(rate['vehicle_class']), amount('single'), textOf(rate['currency'])];
  if (vehicleClass === null || single === null || currency === null || !/^[A-Z]{3}$/.test(currency)) return null;
  return { vehicleClass, single, return: amount('return'), monthly: amount('monthly'), currency };
}

/** Returns the key that identifies a gate of the file. A gate with another price has the same key. */
export const keyOf = ({ name, latitude, longitude, direction }: TollGateFields): string =>
  [name, latitude.toFixed(5), longitude.toFixed(5), direction ?? ''].join('|').toLowerCase();

/** Number of points of a path that are searched together. */
const chunkPoints = 64;

/** Returns the items within a distance of a path, with their offset along it, in driving order. */
export function alongPath<T>(
  path: readonly Position[],
  places: readonly T[],
  options: { readonly positionOf: (place: T) => Position; readonly withinM: number },
): { readonly place: T; readonly alongM: number }[] {
  const chunks = chunksOf(path, options.withinM);
  const found = places.flatMap((place) => {
    const position = options.positionOf(place);
    let best: { distanceM: number; alongM: number } | null = null;
    for (const { line, bounds, startM } of chunks) {
      if (!isWithin(position, bounds)) continue;
      const near = nearestOnLine(position, line);
      if (
        near !== null &&
        near.distanceM <= options.withinM &&
        near.distanceM < (best?.distanceM ?? Number.POSITIVE_INFINITY)
      )
        best = { distanceM: near.distanceM, alongM: startM + near.alongM };
    }
    return best === null ? [] : [{ place, alongM: best.alongM }];
  });
  return found.sort((a, b) => a.alongM - b.alongM);
}

function chunksOf(path: readonly Position[], marginM: number) {
  let startM = 0;
  const chunks = [];
  for (let at = 0; at < Math.max(1, path.length - 1); at += chunkPoints) {
    const line = path.slice(at, at + chunkPoints + 1);
    chunks.push({ line, bounds: computeBounds(line, marginM), startM });
    startM += lineLengthM(line);
  }
  return chunks;
}
