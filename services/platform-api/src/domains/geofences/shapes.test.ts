import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { area } from '@turf/area';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { distance } from '@turf/distance';
import { pointToLineDistance } from '@turf/point-to-line-distance';
import * as fc from 'fast-check';
import { boundsOverlap } from '../../geometry/bounds.ts';
import { nearestOnLine } from '../../geometry/lines.ts';
import { destination, type Position } from '../../geometry/positions.ts';
import { toPairs } from '../../platform/coordinates.ts';
import { buildShape, contains, createContainsCheck, displayPosition, toGeoJsonGeometry } from './shapes.ts';

fc.configureGlobal(propertySettings);

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true });
const centre = fc.tuple(number(-60, 60), number(-180, 180)) as fc.Arbitrary<Position>;
const lngLat = ([latitude, longitude]: Position): [number, number] => [longitude, latitude];
const none = { radiusM: null, widthM: null };

describe('geofence shapes', () => {
  it('circle: contains the positions within its radius by turf, also across the date line', () => {
    fc.assert(
      fc.property(centre, number(20, 100_000), number(0, 360), number(0, 2), (middle, radiusM, bearing, part) => {
        const circle = buildShape({ type: 'circle', positions: [middle], ...none, radiusM });
        const position = destination(middle, bearing, radiusM * part);
        const awayM = distance(lngLat(middle), lngLat(position), { units: 'meters' });
        fc.pre(Math.abs(awayM - radiusM) > 0.01);
        expect(contains(circle, position)).toBe(awayM < radiusM);
        expect(createContainsCheck(circle)(position)).toBe(awayM < radiusM);
      }),
    );
  });

  it('corridor: contains the positions within half its width by turf', () => {
    const near = fc.tuple(number(40, 40.05), number(10, 10.05)) as fc.Arbitrary<Position>;
    fc.assert(
      fc.property(fc.array(near, { minLength: 2, maxLength: 6 }), near, number(10, 5_000), (line, position, widthM) => {
        const corridor = buildShape({ type: 'corridor', positions: line, ...none, widthM });
        const coordinates = line.map(lngLat);
        const awayM = pointToLineDistance(lngLat(position), { type: 'LineString', coordinates }, { units: 'meters' });
        fc.pre(Math.abs(awayM - widthM / 2) > 1 + awayM * 0.005);
        expect(contains(corridor, position)).toBe(awayM < widthM / 2);
        expect(createContainsCheck(corridor)(position)).toBe(awayM < widthM / 2);
      }),
    );
  });

  it('polygon: contains the same positions as turf, and its GeoJSON is counterclockwise and has the same area', () => {
    const radii = fc.array(number(500, 5_000), { minLength: 3, maxLength: 12 });
    fc.assert(
      fc.property(
        centre,
        radii,
        fc.boolean(),
        number(0, 360),
        number(0, 6_000),
        (middle, corners, isReversed, bearing, far) => {
          fc.pre(Math.abs(middle[1]) < 179);
          const ring = corners.map((radius, at) => destination(middle, (360 * at) / corners.length, radius));
          const polygon = buildShape({ type: 'polygon', positions: isReversed ? ring.reverse() : ring, ...none });
          const position = destination(middle, bearing, far);
          const geometry = toGeoJsonGeometry(polygon) as { type: 'Polygon'; coordinates: [number, number][][] };
          expect(contains(polygon, position)).toBe(booleanPointInPolygon(lngLat(position), geometry));
          // The two functions may differ only on the edge, which belongs to the area.
          const edge = nearestOnLine(position, [...ring, ...ring.slice(0, 1)]);
          const isOnEdge = (edge?.distanceM ?? 0) < 0.01;
          expect(createContainsCheck(polygon)(position) === contains(polygon, position) || isOnEdge).toBe(true);
          expect(ring.map(createContainsCheck(polygon))).not.toContain(false);
          expect(polygon.areaM2 / area(geometry)).toBeCloseTo(1, 3);
          expect(signedArea(geometry.coordinates[0] ?? [])).toBeGreaterThan(0);
        },
      ),
    );
  });

  it('has a middle within its bounds, and draws a circle at its true size', () => {
    fc.assert(
      fc.property(centre, number(100, 50_000), (middle, radiusM) => {
        fc.pre(Math.abs(middle[1]) < 178);
        const circle = buildShape({ type: 'circle', positions: [middle], ...none, radiusM });
        const at = displayPosition(circle);
        expect(boundsOverlap(circle.bounds, { minLat: at[0], maxLat: at[0], minLng: at[1], maxLng: at[1] })).toBe(true);
        const drawn = toGeoJsonGeometry(circle) as { type: 'Polygon'; coordinates: [number, number][][] };
        // 64 corners leave out less than a fifth of a percent.
        expect(area(drawn) / circle.areaM2).toBeCloseTo(1, 2);
      }),
    );
  });

  it('stores shapes without negative zero and without the repeated corner', () => {
    const ring: Position[] = [
      [0, 0],
      [0, 1],
      [1, 1],
      [0, 0],
    ];
    expect(toPairs(buildShape({ type: 'polygon', positions: ring, ...none }).points)).toEqual(ring.slice(0, 3));
  });
});

/** Signed area in the plane, which is sufficient for the sign. */
const signedArea = (ring: readonly [number, number][]): number =>
  ring.slice(1).reduce((sum, [x, y], at) => {
    const [beforeX, beforeY] = ring[at] ?? [0, 0];
    return sum + (beforeX * y - x * beforeY) / 2;
  }, 0);
