import type { Edition } from '../edition.ts';
import { BodyError } from '../errors.ts';
import {
  cameraTime,
  countedList,
  inEditions,
  pair,
  remainingBytes,
  struct,
  text16,
  u8,
  u16,
  u32,
  unsignedCoordinate,
  whenBit,
} from '../fields/index.ts';
import { decodeBody, defineMessage, type MessageDefinition } from '../message.ts';

// Attribute bits of areas: 0 daily time, 1 speed limit, 2/3 alarm driver/platform on entry, 4/5 on exit, 6 south, 7 west,
// 8 doors forbidden, 14 close modem inside, 15 collect detailed GNSS (8, 14, 15 from 2013). Table 57.

const areaHeader = { areaId: u32(), attributes: u16() };
const timeFields = {
  startTime: whenBit('attributes', 0, cameraTime()), // daily range: date digits 00, then raw BCD
  endTime: whenBit('attributes', 0, cameraTime()),
};
const speedFields = {
  maxSpeedKmh: whenBit('attributes', 1, u16()),
  overspeedDurationS: whenBit('attributes', 1, u8()),
};
const nightSpeedField = { nightMaxSpeedKmh: inEditions(['2019'], whenBit('attributes', 1, u16())) };
const name = { name: inEditions(['2019'], text16()) };
const setAttributeField = { setAttribute: u8() }; // 0 replace, 1 add, 2 change

/** 0x8600: circular areas. Coordinates carry no sign; attribute bits 6 and 7 state the hemisphere. */
export const setCircleAreas = defineMessage({
  id: 0x8600,
  name: 'setCircleAreas',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 55 to 57',
  responseIds: [0x0001],
  body: {
    ...setAttributeField,
    areas: countedList(
      u8(),
      struct({
        ...areaHeader,
        centerLatitudeDeg: unsignedCoordinate(),
        centerLongitudeDeg: unsignedCoordinate(),
        radiusM: u32(),
        ...timeFields,
        ...speedFields,
        ...nightSpeedField,
        ...name,
      }),
      { packageCount2011: u8() },
    ),
  },
});

/** 0x8602: rectangular areas. */
export const setRectangleAreas = defineMessage({
  id: 0x8602,
  name: 'setRectangleAreas',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 59 and 60',
  responseIds: [0x0001],
  body: {
    ...setAttributeField,
    areas: countedList(
      u8(),
      struct({
        ...areaHeader,
        topLeftLatitudeDeg: unsignedCoordinate(),
        topLeftLongitudeDeg: unsignedCoordinate(),
        bottomRightLatitudeDeg: unsignedCoordinate(),
        bottomRightLongitudeDeg: unsignedCoordinate(),
        ...timeFields,
        ...speedFields,
        ...nightSpeedField,
        ...name,
      }),
      { packageCount2011: u8() },
    ),
  },
});

/** 0x8604: one polygon. */
export const setPolygonArea = defineMessage({
  id: 0x8604,
  name: 'setPolygonArea',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 62 and 63',
  responseIds: [0x0001],
  body: {
    ...areaHeader,
    ...timeFields,
    ...speedFields,
    vertices: countedList(u16(), pair(unsignedCoordinate(), unsignedCoordinate()), { packageCount2011: u8() }),
    ...nightSpeedField,
    ...name,
  },
});

/** 0x8606: one route. */
export const setRoute = defineMessage({
  id: 0x8606,
  name: 'setRoute',
  from: 'platform',
  reference: 'JT/T 808-2013 tables 65 to 68',
  responseIds: [0x0001],
  body: {
    routeId: u32(),
    attributes: u16(), // bits 0, 2-5 as for areas
    ...timeFields,
    points: countedList(
      u16(),
      struct({
        pointId: u32(),
        segmentId: u32(),
        latitudeDeg: unsignedCoordinate(),
        longitudeDeg: unsignedCoordinate(),
        widthM: u8(),
        attributes: u8(), // bits 0 travel time, 1 speed limit, 2 south, 3 west
        maxTravelTimeS: whenBit('attributes', 0, u16()),
        minTravelTimeS: whenBit('attributes', 0, u16()),
        ...speedFields,
        ...nightSpeedField,
      }),
      { packageCount2011: u8() },
    ),
    ...name,
  },
});

function defineDeletion<const N extends string>(id: number, nameField: N, reference: string) {
  return defineMessage({
    id,
    name: nameField,
    from: 'platform',
    reference,
    responseIds: [0x0001],
    body: { ids: countedList(u8(), u32()) }, // at most 125; none = all of this kind
  });
}

/** 0x8601: delete circular areas. */
export const deleteCircleAreas = defineDeletion(0x8601, 'deleteCircleAreas', 'JT/T 808-2013 table 58');
/** 0x8603: delete rectangular areas. */
export const deleteRectangleAreas = defineDeletion(0x8603, 'deleteRectangleAreas', 'JT/T 808-2013 table 61');
/** 0x8605: delete polygons. */
export const deletePolygonAreas = defineDeletion(0x8605, 'deletePolygonAreas', 'JT/T 808-2013 table 64');
/** 0x8607: delete routes. */
export const deleteRoutes = defineDeletion(0x8607, 'deleteRoutes', 'JT/T 808-2013 table 69');

/** 0x8608: query areas and routes. */
export const queryAreas = defineMessage({
  id: 0x8608,
  name: 'queryAreas',
  from: 'platform',
  reference: 'JT/T 808-2019 chapter 8',
  editions: ['2019'],
  responseIds: [0x0608],
  body: {
    queryType: u8(), // 1 circle, 2 rectangle, 3 polygon, 4 route
    ids: countedList(u32(), u32()), // none = all
  },
});

/**
 * 0x0608: areas and routes of the terminal, in the form of the bodies that set them. `decodeQueriedAreas` decodes
 * those.
 */
export const queryAreasResponse = defineMessage({
  id: 0x0608,
  name: 'queryAreasResponse',
  from: 'terminal',
  reference: 'JT/T 808-2019 chapter 8',
  editions: ['2019'],
  body: { queryType: u8(), count: u32(), data: remainingBytes() },
});

const definitionByQueryType: Readonly<Record<number, MessageDefinition>> = {
  1: setCircleAreas,
  2: setRectangleAreas,
  3: setPolygonArea,
  4: setRoute,
};

/**
 * Decodes the consecutive set-messages inside a 0x0608; returns undefined if the type is unknown or they do not fit.
 */
export function decodeQueriedAreas(
  response: { queryType: number; data: Buffer },
  edition: Edition = '2019',
): Record<string, unknown>[] | undefined {
  const definition = definitionByQueryType[response.queryType];
  if (definition === undefined) return undefined;
  const bodies: Record<string, unknown>[] = [];
  let remaining: Buffer | undefined = response.data;
  try {
    while (remaining !== undefined && remaining.length > 0) {
      const { trailing, ...body }: Record<string, unknown> = decodeBody(definition, remaining, edition);
      bodies.push(body);
      remaining = Buffer.isBuffer(trailing) ? trailing : undefined;
    }
    return bodies;
  } catch (error) {
    if (error instanceof BodyError) return undefined;
    throw error;
  }
}
