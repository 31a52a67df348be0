import type { LineString, Polygon } from 'geojson';
import { distanceM, toMercatorY } from './mercator.ts';

export type Position = readonly [latitude: number, longitude: number];
/** West, south, east and north in degrees. */
export type Bounds = readonly [number, number, number, number];

export const shapeKinds = ['polygon', 'circle', 'corridor'] as const;
export type ShapeKind = (typeof shapeKinds)[number];

/** An area, or a line: a corridor without a width. */
export interface Shape {
  readonly kind: ShapeKind;
  /** Corners of a polygon without the repeated first one, the centre of a circle, or the points of a line. */
  readonly positions: readonly Position[];
  readonly radiusM: number | null;
  readonly widthM: number | null;
}

/** Least number of positions of each kind. */
const minPositions: Readonly<Record<ShapeKind, number>> = { polygon: 3, circle: 1, corridor: 2 };
export const defaultWidthM = 100;
/** Limits of the radius of a circle. */
const minRadiusM = 20;
const maxRadiusM = 100_000;

const metresPerDegree = 111_195;
const circleCorners = 64;
/** To about ten centimetres. */
const precision = 1e6;

const round = (value: number): number => Math.round(value * precision) / precision;
const wrap = (longitude: number): number => ((((longitude + 180) % 360) + 360) % 360) - 180;
const normalize = ([latitude, longitude]: Position): Position => [
  round(Math.max(-90, Math.min(90, latitude))),
  // Exactly 180 degrees is a valid longitude.
  round(Math.abs(longitude) === 180 ? longitude : wrap(longitude)),
];
const cosine = (latitude: number): number => Math.max(0.01, Math.cos((latitude * Math.PI) / 180));

/** Returns a position that lies some metres to the north and to the east. */
export const movePosition = ([latitude, longitude]: Position, northM: number, eastM: number): Position =>
  normalize([latitude + northM / metresPerDegree, longitude + eastM / metresPerDegree / cosine(latitude)]);

/** Returns the shape with another position at an index. */
export const replacePosition = (shape: Shape, index: number, position: Position): Shape => ({
  ...shape,
  positions: shape.positions.with(index, normalize(position)),
});

export const canRemovePosition = ({ kind, positions }: Shape): boolean => positions.length > minPositions[kind];

export const removePosition = (shape: Shape, index: number): Shape => ({
  ...shape,
  positions: shape.positions.toSpliced(index, 1),
});

/** Returns the shape with a further position after an index: halfway to the next one, or beyond the end of a line. */
export function insertPosition(shape: Shape, index: number): Shape {
  const { kind, positions } = shape;
  const from = positions[index];
  if (from === undefined || kind === 'circle') return shape;
  const next = positions[index + 1] ?? (kind === 'polygon' ? positions[0] : undefined);
  const previous = positions[index - 1] ?? from;
  const inserted: Position =
    next === undefined
      ? [from[0] + (from[0] - previous[0]) / 2, from[1] + (from[1] - previous[1]) / 2]
      : [(from[0] + next[0]) / 2, (from[1] + next[1]) / 2];
  return { ...shape, positions: positions.toSpliced(index + 1, 0, normalize(inserted)) };
}

/** Returns a shape in the middle of a part of the map, for users who do not draw with a pointer. */
export function createShape(kind: ShapeKind, [west, south, east, north]: Bounds): Shape {
  const middle: Position = normalize([(south + north) / 2, (west + east) / 2]);
  const at = (northShare: number, eastShare: number): Position =>
    normalize([middle[0] + ((north - south) / 2) * northShare, middle[1] + ((east - west) / 2) * eastShare]);
  if (kind === 'circle') {
    const radiusM = Math.round(distanceM(middle, at(0.4, 0)));
    return { kind, positions: [middle], radiusM: clampRadius(radiusM), widthM: null };
  }
  if (kind === 'corridor') return { kind, positions: [at(0, -0.4), at(0, 0.4)], radiusM: null, widthM: defaultWidthM };
  return {
    kind,
    positions: [at(0.4, -0.4), at(0.4, 0.4), at(-0.4, 0.4), at(-0.4, -0.4)],
    radiusM: null,
    widthM: null,
  };
}

const clampRadius = (radiusM: number): number => Math.max(minRadiusM, Math.min(maxRadiusM, radiusM));

const toLngLat = ([latitude, longitude]: Position): [number, number] => [longitude, latitude];

/** Returns the closed ring of a circle, longitude first. */
export function toCircleRing([latitude, longitude]: Position, radiusM: number): [number, number][] {
  const ring = Array.from({ length: circleCorners }, (_, at): [number, number] => {
    const angle = (2 * Math.PI * at) / circleCorners;
    return toLngLat(movePosition([latitude, longitude], radiusM * Math.sin(angle), radiusM * Math.cos(angle)));
  });
  return [...ring, ring[0] as [number, number]];
}

/** Returns the centre and the radius of a ring that was drawn as a circle on the map. */
export function readCircle(ring: readonly (readonly number[])[]): { centre: Position; radiusM: number } {
  const longitudes = ring.map(([longitude = 0]) => longitude);
  const latitudes = ring.map(([, latitude = 0]) => latitude);
  const middle = (values: readonly number[]): number => (Math.min(...values) + Math.max(...values)) / 2;
  const centre = normalize([toLatitude(middle(latitudes.map(toMercatorY))), middle(longitudes)]);
  const distances = ring.map(([longitude = 0, latitude = 0]) => distanceM(centre, [latitude, longitude]));
  const radiusM = distances.reduce((sum, distance) => sum + distance, 0) / distances.length;
  return { centre, radiusM: clampRadius(Math.round(radiusM)) };
}

const toLatitude = (mercatorY: number): number => (Math.atan(Math.sinh(Math.PI * (1 - 2 * mercatorY))) * 180) / Math.PI;

/** Returns the geometry that is drawn on the map. */
export function toGeometry({ kind, positions, radiusM }: Shape): Polygon | LineString {
  const line = positions.map(toLngLat);
  if (kind === 'corridor') return { type: 'LineString', coordinates: line };
  const [centre] = positions;
  const ring = kind === 'circle' && centre !== undefined ? toCircleRing(centre, radiusM ?? minRadiusM) : line;
  return { type: 'Polygon', coordinates: [kind === 'circle' ? ring : [...ring, ...ring.slice(0, 1)]] };
}

/** Returns the shape of a geometry that was drawn or changed on the map. The width of a corridor does not change. */
export function fromGeometry(kind: ShapeKind, geometry: Polygon | LineString, widthM: number | null): Shape {
  const coordinates = geometry.type === 'Polygon' ? (geometry.coordinates[0] ?? []) : geometry.coordinates;
  if (kind === 'circle') {
    const { centre, radiusM } = readCircle(coordinates.slice(0, -1));
    return { kind, positions: [centre], radiusM, widthM: null };
  }
  const open = kind === 'polygon' ? coordinates.slice(0, -1) : coordinates;
  return {
    kind,
    positions: open.map(([longitude = 0, latitude = 0]) => normalize([latitude, longitude])),
    radiusM: null,
    widthM: kind === 'corridor' ? widthM : null,
  };
}

/** Returns the bounds of positions with a margin; null without any. */
export function boundsOf(positions: readonly Position[], marginM = 0): Bounds | null {
  if (positions.length === 0) return null;
  const latitudes = positions.map(([latitude]) => latitude);
  const longitudes = positions.map(([, longitude]) => longitude);
  const [south, north] = [Math.min(...latitudes), Math.max(...latitudes)];
  const northMargin = marginM / metresPerDegree;
  const eastMargin = northMargin / cosine((south + north) / 2);
  return [
    Math.min(...longitudes) - eastMargin,
    south - northMargin,
    Math.max(...longitudes) + eastMargin,
    north + northMargin,
  ];
}

export const boundsOfShape = ({ positions, radiusM, widthM }: Shape): Bounds | null =>
  boundsOf(positions, radiusM ?? (widthM ?? 0) / 2);

/** Returns the length of a line in metres. */
export const lengthM = (positions: readonly Position[]): number =>
  positions.reduce((sum, position, at) => sum + (at === 0 ? 0 : distanceM(positions[at - 1] ?? position, position)), 0);

export const isSameShape = (a: Shape | null, b: Shape | null): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Returns the pixels of a length at zoom 0 of the map, which double with each level. */
export const toPixelsAtZoom0 = (metres: number, latitude: number): number =>
  (metres * 512) / (metresPerDegree * 360 * cosine(latitude));
