import type { Position } from '../../geometry/positions.ts';
import { isObject, type JsonObject, looseNumberOf, numberOf, objectsOf, positionOf, textOf } from '../reading.ts';
import type { Road } from './road-network.ts';

const kmhOfMile = 1.609344;

/**
 * Reads roads from GeoJSON: LineStrings and MultiLineStrings with the optional properties `name`, `maxspeed` and
 * `oneway` in the format of OpenStreetMap.
 */
export function readRoads(text: string): Road[] {
  const document: unknown = JSON.parse(text);
  if (!isObject(document) || document['type'] !== 'FeatureCollection')
    throw new Error('a road file must be a GeoJSON FeatureCollection');
  return objectsOf(document['features']).flatMap((feature) => {
    const properties = isObject(feature['properties']) ? feature['properties'] : {};
    return linesOf(feature['geometry']).flatMap((line) => roadOf(line, properties));
  });
}

function linesOf(geometry: unknown): unknown[] {
  if (!isObject(geometry)) return [];
  if (geometry['type'] === 'LineString') return [geometry['coordinates']];
  return geometry['type'] === 'MultiLineString' && Array.isArray(geometry['coordinates'])
    ? geometry['coordinates']
    : [];
}

function roadOf(coordinates: unknown, properties: JsonObject): Road[] {
  if (!Array.isArray(coordinates)) return [];
  const line = coordinates.map((pair: unknown) =>
    Array.isArray(pair) ? positionOf(numberOf(pair[1]), numberOf(pair[0])) : null,
  );
  const positions = line.filter((position): position is Position => position !== null);
  if (positions.length < 2 || positions.length < line.length) return [];
  const oneWay = properties['oneway'];
  // In OpenStreetMap, -1 is one-way against the direction of the line.
  const isBackward = oneWay === '-1' || oneWay === -1;
  return [
    {
      line: isBackward ? positions.reverse() : positions,
      name: textOf(properties['name']) ?? textOf(properties['ref']),
      maxSpeedKmh: speedOf(properties['maxspeed']),
      isOneWay: isBackward || oneWay === true || oneWay === 1 || ['yes', 'true', '1'].includes(String(oneWay)),
    },
  ];
}

/** Parses `50`, `"50"` and `"30 mph"`; other values (`"signals"`) are unknown. */
function speedOf(value: unknown): number | null {
  const miles = typeof value === 'string' ? /^\s*(\d{1,3})\s*mph\s*$/i.exec(value)?.[1] : undefined;
  const speed = miles === undefined ? looseNumberOf(value) : Number(miles) * kmhOfMile;
  return speed !== null && speed > 0 && speed <= 300 ? speed : null;
}
