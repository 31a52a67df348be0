import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { area } from '@turf/area';
import { distance } from '@turf/distance';
import { kinks } from '@turf/kinks';
import { pointToLineDistance } from '@turf/point-to-line-distance';
import * as fc from 'fast-check';
import { boundsOverlap, computeBounds, formatBbox, isWithin, parseBbox } from './bounds.ts';
import { joinLines, lineLengthM, nearestOnLine } from './lines.ts';
import { decodePolyline, encodePolyline } from './polyline.ts';
import { bearingDeg, compassPoint, destination, distanceM, type Position, unwrapLongitude } from './positions.ts';
import { areaM2, findRingFault, isInRing, withoutClosingCorner } from './rings.ts';

fc.configureGlobal(propertySettings);

const number = (min: number, max: number) => fc.double({ min, max, noNaN: true, noDefaultInfinity: true });
const position = (maxLat = 85): fc.Arbitrary<Position> => fc.tuple(number(-maxLat, maxLat), number(-180, 180));
const lngLat = ([latitude, longitude]: Position): [number, number] => [longitude, latitude];
const lineString = (line: readonly Position[]) => ({ type: 'LineString' as const, coordinates: line.map(lngLat) });
const polygon = (ring: readonly Position[]) => ({
  type: 'Polygon' as const,
  coordinates: [[...ring, ...ring.slice(0, 1)].map(lngLat)],
});

/** Corners at increasing angles around a centre, which form a ring that never crosses itself. */
const starRing = fc
  .record({
    centre: fc.tuple(number(-60, 60), number(-170, 170)) as fc.Arbitrary<Position>,
    radii: fc.array(number(200, 20_000), { minLength: 3, maxLength: 30 }),
  })
  .map(({ centre, radii }) => radii.map((radius, at) => destination(centre, (360 * at) / radii.length, radius)));

describe('positions', () => {
  it('measures the same distances as turf', () => {
    fc.assert(
      fc.property(position(90), position(90), (a, b) => {
        const expected = distance(lngLat(a), lngLat(b), { units: 'meters' });
        // Near the antipode, the precision of an angle is the square root of a double's precision: a tenth of a metre.
        expect(distanceM(a, b)).toBeCloseTo(expected, expected < 19_000_000 ? 3 : 0);
      }),
    );
  });

  it('computes a destination with the given distance and bearing', () => {
    fc.assert(
      fc.property(position(), number(0, 359.9), number(1, 500_000), (from, bearing, distance) => {
        const to = destination(from, bearing, distance);
        expect(Math.abs(to[1])).toBeLessThanOrEqual(180);
        expect(Math.abs(distanceM(from, to) - distance)).toBeLessThan(0.01 + distance * 1e-6);
        const difference = Math.abs(unwrapLongitude(bearingDeg(from, to) - bearing, 0));
        expect(difference * distance).toBeLessThan(1 + distance * 1e-3);
      }),
    );
  });

  it.each([
    [[10, 10], [11, 10], 'N'],
    [[10, 10], [11, 11], 'NE'],
    [[10, 10], [10, 11], 'E'],
    [[10, 10], [9, 9], 'SW'],
    [[10, 179.9], [10, -179.9], 'E'],
    [[10, 10], [11, 9.99], 'N'],
  ] as [Position, Position, string][])('names the direction from %j to %j %s', (from, to, point) => {
    expect(compassPoint(bearingDeg(from, to))).toBe(point);
  });
});

describe('polylines', () => {
  it("encodes and decodes the example of Google's documentation", () => {
    const line: Position[] = [
      [38.5, -120.2],
      [40.7, -120.95],
      [43.252, -126.453],
    ];
    expect(encodePolyline(line)).toBe('_p~iF~ps|U_ulLnnqC_mqNvxq`@');
    expect(decodePolyline('_p~iF~ps|U_ulLnnqC_mqNvxq`@')).toEqual(line);
  });

  it('round-trips lines with the given precision', () => {
    fc.assert(
      fc.property(fc.array(position(90), { maxLength: 20 }), fc.constantFrom(5, 6), (line, precision) => {
        const back = decodePolyline(encodePolyline(line, precision), precision) ?? [];
        expect(back).toHaveLength(line.length);
        for (const [at, [latitude, longitude]] of back.entries()) {
          expect(Math.abs(latitude - (line[at]?.[0] ?? 0))).toBeLessThanOrEqual(0.51 * 10 ** -precision);
          expect(Math.abs(longitude - (line[at]?.[1] ?? 0))).toBeLessThanOrEqual(0.51 * 10 ** -precision);
        }
      }),
    );
  });

  it('returns null for invalid text', () => {
    for (const text of [
      '_',
      '_p~iF',
      'a b',
      'ä',
      '~~~~~~~~~~~~~~',
      encodePolyline([[89, 0]]) + encodePolyline([[89, 0]]),
    ])
      expect(decodePolyline(text)).toBeNull();
    fc.assert(
      fc.property(fc.string({ maxLength: 40 }), (text) => {
        const line = decodePolyline(text);
        expect(line === null || line.every(([lat, lng]) => Math.abs(lat) <= 90 && Math.abs(lng) <= 180)).toBe(true);
      }),
    );
  });
});

describe('rings', () => {
  it('computes the same area as turf', () => {
    fc.assert(
      fc.property(starRing, (ring) => {
        expect(areaM2(ring) / area(polygon(ring))).toBeCloseTo(1, 6);
      }),
    );
  });

  it('accepts every ring that does not cross itself, from any first corner and in either direction', () => {
    fc.assert(
      fc.property(starRing, fc.nat(), fc.boolean(), (ring, difference, isReversed) => {
        const start = difference % ring.length;
        const turned = [...ring.slice(start), ...ring.slice(0, start)];
        expect(findRingFault(isReversed ? turned.reverse() : turned)).toBeNull();
      }),
    );
  });

  it('finds every crossing that turf finds, and in addition only rings that touch themselves', () => {
    const corner = fc.oneof(
      fc.tuple(fc.integer({ min: -4, max: 4 }), fc.integer({ min: -4, max: 4 })),
      fc
        .tuple(fc.integer({ min: -1e7, max: 1e7 }), fc.integer({ min: -1e7, max: 1e7 }))
        .map(([a, b]) => [a / 1e7, b / 1e7]),
    ) as fc.Arbitrary<Position>;
    fc.assert(
      fc.property(fc.array(corner, { minLength: 4, maxLength: 7 }), (ring) => {
        const hasFault = findRingFault(ring) !== null;
        const crosses = kinks(polygon(ring)).features.length > 0;
        expect(hasFault).toBe(crosses || touchesRing(ring));
      }),
      { numRuns: propertyRuns(500) },
    );
  });

  it.each([
    [
      'two corners',
      [
        [0, 0],
        [0, 1],
      ],
      'at least 3',
    ],
    [
      'a bow tie',
      [
        [0, 0],
        [1, 1],
        [0, 1],
        [1, 0],
      ],
      'cross',
    ],
    [
      'corners on one line',
      [
        [0, 0],
        [1, 1],
        [2, 2],
      ],
      'cross or touch',
    ],
    [
      'a corner twice',
      [
        [0, 0],
        [0, 1],
        [1, 1],
        [0, 1],
      ],
      'same corner',
    ],
    [
      'a corner on a side',
      [
        [0, 0],
        [0, 2],
        [2, 2],
        [0, 1],
      ],
      'cross or touch',
    ],
    [
      'a spike that comes back',
      [
        [0, 0],
        [0, 4],
        [4, 4],
        [4, -2],
        [4, 0],
      ],
      'cross or touch',
    ],
  ] as [string, Position[], string][])('rejects %s', (_name, ring, fault) => {
    expect(findRingFault(ring)).toContain(fault);
  });

  it('rejects corners on one line whose decimals have no exact double', () => {
    const line: Position[] = [
      [10, 20],
      [10.01, 20.01],
      [10.02, 20.02],
    ];
    expect(findRingFault(line)).toContain('area above zero');
    const decimals = fc.integer({ min: 4, max: 9 });
    const step = fc.tuple(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -500, max: 500 }));
    const times = fc.uniqueArray(fc.integer({ min: -100, max: 100 }), { minLength: 3, maxLength: 12 });
    fc.assert(
      fc.property(position(80), decimals, step, times, ([latitude, longitude], digits, [north, east], multiples) => {
        // Multiples of the last digit: the corners are exactly on one line until they are converted to doubles.
        const scale = 10 ** digits;
        const [startLat, startLng] = [Math.round(latitude * scale), Math.round((longitude / 180) * 100 * scale)];
        const ring = multiples.map(
          (times): Position => [(startLat + times * north) / scale, (startLng + times * east) / scale],
        );
        expect(findRingFault(ring)).not.toBeNull();
      }),
    );
  });

  it('accepts a parking space of 2 m by 5 m at any position and angle', () => {
    const turned = fc.tuple(position(80), number(0, 360));
    fc.assert(
      fc.property(turned, ([corner, bearing]) => {
        const along = destination(corner, bearing, 5);
        const ring = [corner, along, destination(along, bearing + 90, 2), destination(corner, bearing + 90, 2)];
        expect(findRingFault(ring)).toBeNull();
        expect(areaM2(ring)).toBeCloseTo(10, 1);
      }),
    );
  });

  it('rejects a ring around a pole, whose inside is ambiguous', () => {
    const around: Position[] = [-150, -60, 30, 120].map((lng) => [80, lng]);
    expect(findRingFault(around)).toContain('pole');
  });

  it('distinguishes inside from outside across the date line and for any multiple of 360 degrees of longitude', () => {
    const ring: Position[] = [
      [-1, 179],
      [-1, -179],
      [1, -179],
      [1, 179],
    ];
    expect(findRingFault(ring)).toBeNull();
    expect([180, -180, 179.5, -179.5].map((lng) => isInRing([0, lng], ring))).toEqual([true, true, true, true]);
    expect([178.9, -178.9, 0].map((lng) => isInRing([0, lng], ring))).toEqual([false, false, false]);
    expect(areaM2(ring)).toBeCloseTo(areaM2(ring.map(([lat, lng]) => [lat, unwrapLongitude(lng - 180, 0)])), 0);
  });

  it('contains its corners, and nothing outside its bounds', () => {
    fc.assert(
      fc.property(starRing, number(0.001, 0.95), (ring, beyond) => {
        const { minLat, minLng, maxLat, maxLng } = computeBounds(ring);
        expect(ring.every((corner) => isInRing(corner, ring))).toBe(true);
        expect(isInRing([maxLat + beyond, (minLng + maxLng) / 2], ring)).toBe(false);
        expect(isInRing([(minLat + maxLat) / 2, maxLng + beyond], ring)).toBe(false);
      }),
    );
  });

  it('opens a closed ring and returns an open one unchanged', () => {
    const open: Position[] = [
      [0, 0],
      [0, 1],
      [1, 1],
    ];
    expect(withoutClosingCorner([...open, [0, 0]])).toEqual(open);
    expect(withoutClosingCorner(open)).toEqual(open);
  });
});

/** Returns true if a corner lies on a side that it does not belong to, or if all corners are on one line. */
function touchesRing(ring: readonly Position[]): boolean {
  const next = (at: number): number => (at + 1) % ring.length;
  const side = (at: number): Position[] => [ring[at] ?? [0, 0], ring[next(at)] ?? [0, 0]];
  return ring.some((corner, at) =>
    ring.some((_start, of) => of !== at && next(of) !== at && (nearestOnLine(corner, side(of))?.distanceM ?? 0) < 1e-3),
  );
}

describe('lines', () => {
  it('computes the same distance to a line as turf', () => {
    const near = fc.tuple(number(0, 0.2), number(0, 0.2)) as fc.Arbitrary<Position>;
    fc.assert(
      fc.property(near, fc.array(near, { minLength: 2, maxLength: 8 }), number(-50, 50), (point, line, shift) => {
        const moved = line.map(([lat, lng]): Position => [lat + shift, lng]);
        const from: Position = [point[0] + shift, point[1]];
        const expected = pointToLineDistance(lngLat(from), lineString(moved), { units: 'meters', method: 'geodesic' });
        expect(Math.abs((nearestOnLine(from, moved)?.distanceM ?? -1) - expected)).toBeLessThan(1 + expected * 0.005);
      }),
    );
  });

  it('measures along the line up to the nearest point', () => {
    const line: Position[] = [
      [0, 0],
      [0, 1],
      [1, 1],
    ];
    expect(nearestOnLine([0.5, 1.1], line)?.alongM).toBeCloseTo(
      lineLengthM([
        [0, 0],
        [0, 1],
        [0.5, 1],
      ]),
      -1,
    );
    expect(nearestOnLine([5, 5], [])).toBeNull();
    expect(nearestOnLine([0, 1], [[0, 0]])).toMatchObject({ alongM: 0, position: [0, 0] });
  });

  it('crosses the date line without a detour', () => {
    const line: Position[] = [
      [0, 179.9],
      [0, -179.9],
    ];
    expect(lineLengthM(line)).toBeCloseTo(distanceM([0, 0], [0, 0.2]), 0);
    expect(nearestOnLine([0.01, -179.95], line)?.distanceM).toBeCloseTo(distanceM([0, 0], [0.01, 0]), 0);
    expect(nearestOnLine([0.01, 179.95], line)?.alongM).toBeCloseTo(distanceM([0, 0], [0, 0.05]), 0);
  });

  it('joins lines without repeated points', () => {
    expect(
      joinLines([
        [
          [0, 0],
          [0, 1],
        ],
        [
          [0, 1],
          [1, 1],
        ],
        [[1, 1]],
      ]),
    ).toEqual([
      [0, 0],
      [0, 1],
      [1, 1],
    ]);
  });
});

describe('bounds', () => {
  it('contains every point of the line, and the margin around it', () => {
    fc.assert(
      fc.property(position(80), number(1, 200_000), number(0, 359), (centre, margin, bearing) => {
        const bounds = computeBounds([centre], margin);
        expect(isWithin(destination(centre, bearing, margin * 0.999), bounds)).toBe(true);
        expect(boundsOverlap(bounds, computeBounds([centre]))).toBe(true);
      }),
    );
  });

  it('formats bounds across the date line as GeoJSON, and parses them', () => {
    const bounds = computeBounds([
      [1, 179],
      [-1, -179],
    ]);
    expect(formatBbox(bounds)).toEqual([-1, 179, 1, -179]);
    expect(parseBbox('-1,179,1,-179')).toEqual(bounds);
    expect(parseBbox(' -1 , 179e0, 1.0, -179')).toEqual(bounds);
    expect(parseBbox('-1e-7,0.30000000000000004,1,2')).toMatchObject({ minLat: -1e-7, minLng: 0.1 + 0.2 });
    expect(isWithin([0, 180], bounds)).toBe(true);
    expect(isWithin([0, -179.5], bounds)).toBe(true);
    expect(isWithin([0, 178], bounds)).toBe(false);
  });

  it.each([
    '',
    '1,2,3',
    '1,2,3,4,5',
    '3,2,1,4',
    '91,0,92,1',
    '0,181,1,182',
    'a,b,c,d',
    '1,2,3,NaN',
    '1,,3,4',
    '1e,2,3,4',
    '1.,2,3,4',
    '01,2,3,4',
  ])('rejects %j', (text) => {
    expect(parseBbox(text)).toBeNull();
  });
});
