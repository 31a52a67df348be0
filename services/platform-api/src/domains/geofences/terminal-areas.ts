import {
  type BodyOf,
  deleteCircleAreas,
  deletePolygonAreas,
  deleteRectangleAreas,
  deleteRoutes,
  type Edition,
  encodeBody,
  findUnencodableInGbk,
  type MessageDefinition,
  setCircleAreas,
  setPolygonArea,
  setRectangleAreas,
  setRoute,
} from '@fleet/jt808';
import { toPairs } from '../../platform/coordinates.ts';
import type { Geofence } from './schema.ts';

/** Kinds of areas that a terminal stores separately, each with its own ids. */
export type AreaKind = 'circle' | 'rectangle' | 'polygon' | 'route';

/** Encoded message to a terminal. */
export interface AreaMessage {
  readonly messageId: number;
  readonly bodyHex: string;
}

/** Geofence in the form in which a terminal stores it. */
interface TerminalArea {
  readonly kind: AreaKind;
  readonly encodeMessage: AreaMessage;
}

const deleteDefinitions = {
  circle: deleteCircleAreas,
  rectangle: deleteRectangleAreas,
  polygon: deletePolygonAreas,
  route: deleteRoutes,
} as const;

const encodeMessage = <D extends MessageDefinition>(definition: D, body: BodyOf<D>, edition: Edition): AreaMessage => ({
  messageId: definition.id,
  bodyHex: encodeBody(definition, body, edition).toString('hex'),
});

/** Encodes 0x8601, 0x8603, 0x8605 or 0x8607 for one area. */
export const encodeAreaDeletion = (kind: AreaKind, id: number, edition: Edition): AreaMessage =>
  encodeMessage(deleteDefinitions[kind], { ids: [id] }, edition);

/** Adds the area, and does not replace the others in the terminal. */
const addAttribute = 1;
/** JT/T 808-2013 table 57. The terminal alerts the driver only; the platform detects crossings itself. */
const bit = { speed: 1 << 1, driverOnEntry: 1 << 2, driverOnExit: 1 << 4, south: 1 << 6, west: 1 << 7 } as const;
const segmentBit = { speed: 1 << 1, south: 1 << 2, west: 1 << 3 } as const;
/** 0x8606 has one byte for the width in metres. */
const maxWidthM = 255;
const overspeedSeconds = 10;
const maxId = 0xffff_ffff;

/**
 * Encodes a geofence as 0x8600, 0x8602 or 0x8604, or as 0x8606 for a corridor. Returns null for what these messages
 * cannot express: days of the week in another time zone, or a corridor wider than 255 m. Also returns null for an area
 * on both sides of the equator or of a meridian where signs change.
 */
export function encodeArea(geofence: Geofence, edition: Edition): TerminalArea | null {
  if (geofence.schedule !== null || geofence._id > maxId) return null;
  const points = toPairs(geofence.points);
  if (geofence.type === 'corridor') return encodeCorridor(geofence, points, edition);
  const hemisphereBits = toHemisphereBits(points);
  if (hemisphereBits === null) return null;
  const head = {
    areaId: geofence._id,
    attributes: toAttributes(geofence) | hemisphereBits,
    ...toSpeedLimit(geofence),
    ...toGbkName(geofence),
  };
  if (geofence.type === 'circle') {
    const [[latitude, longitude] = [0, 0]] = points;
    const circle = { ...head, centerLatitudeDeg: latitude, centerLongitudeDeg: longitude };
    const areas = [{ ...circle, radiusM: Math.round(geofence.radiusM ?? 0) }];
    return {
      kind: 'circle',
      encodeMessage: encodeMessage(setCircleAreas, { setAttribute: addAttribute, areas }, edition),
    };
  }
  const rectangle = toRectangle(points);
  if (rectangle !== null) {
    const areas = [{ ...head, ...rectangle }];
    return {
      kind: 'rectangle',
      encodeMessage: encodeMessage(setRectangleAreas, { setAttribute: addAttribute, areas }, edition),
    };
  }
  return { kind: 'polygon', encodeMessage: encodeMessage(setPolygonArea, { ...head, vertices: points }, edition) };
}

function encodeCorridor(
  geofence: Geofence,
  points: readonly [number, number][],
  edition: Edition,
): TerminalArea | null {
  const widthM = Math.round(geofence.widthM ?? 0);
  if (widthM > maxWidthM) return null;
  const hasLimit = geofence.speedLimitKmh !== null;
  const body = {
    routeId: geofence._id,
    attributes: toAttributes(geofence) & ~bit.speed,
    points: points.map(([latitude, longitude], at) => ({
      pointId: at + 1,
      segmentId: at + 1,
      latitudeDeg: latitude,
      longitudeDeg: longitude,
      widthM,
      attributes:
        (hasLimit ? segmentBit.speed : 0) |
        (latitude < 0 ? segmentBit.south : 0) |
        (longitude < 0 ? segmentBit.west : 0),
      ...toSpeedLimit(geofence),
    })),
    ...toGbkName(geofence),
  };
  return { kind: 'route', encodeMessage: encodeMessage(setRoute, body, edition) };
}

const toAttributes = ({ speedLimitKmh, notifyOn }: Geofence): number =>
  (speedLimitKmh === null ? 0 : bit.speed) |
  (notifyOn.includes('enter') ? bit.driverOnEntry : 0) |
  (notifyOn.includes('exit') ? bit.driverOnExit : 0);

const toSpeedLimit = ({ speedLimitKmh }: Geofence) =>
  speedLimitKmh === null
    ? {}
    : { maxSpeedKmh: speedLimitKmh, overspeedDurationS: overspeedSeconds, nightMaxSpeedKmh: speedLimitKmh };

/** Replaces characters outside GBK, because terminals support no others. */
const toGbkName = ({ name }: Geofence) => ({
  name: findUnencodableInGbk(name).reduce((text, character) => text.replaceAll(character, '?'), name),
});

/** Returns the bits for the sides of the equator and of Greenwich that all points are on; null if they are on both. */
function toHemisphereBits(points: readonly (readonly [number, number])[]): number | null {
  const [south, west] = [points.filter(([latitude]) => latitude < 0), points.filter(([, longitude]) => longitude < 0)];
  const isOnOneSide = [south, west].every(({ length }) => length === 0 || length === points.length);
  return isOnOneSide ? (south.length > 0 ? bit.south : 0) | (west.length > 0 ? bit.west : 0) : null;
}

/** Returns the corners of a polygon that is a rectangle of meridians and parallels; null for any other polygon. */
function toRectangle(points: readonly (readonly [number, number])[]) {
  const [latitudes, longitudes] = [points.map(([latitude]) => latitude), points.map(([, longitude]) => longitude)];
  const isAligned = points.every((point, at) => {
    const next = points[(at + 1) % points.length] ?? point;
    return (point[0] === next[0]) !== (point[1] === next[1]);
  });
  if (points.length !== 4 || !isAligned || new Set(latitudes).size !== 2 || new Set(longitudes).size !== 2) return null;
  return {
    topLeftLatitudeDeg: Math.max(...latitudes),
    topLeftLongitudeDeg: Math.min(...longitudes),
    bottomRightLatitudeDeg: Math.min(...latitudes),
    bottomRightLongitudeDeg: Math.max(...longitudes),
  };
}
