import { campaignSize, campaignTimeoutMs, propertySettings } from '@fleet/testing';
import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Geofence } from '../../domains/geofences/schema.ts';
import { degreeM, normalizeLongitude, type Position, toRadians } from '../../geometry/positions.ts';
import {
  expectedEvents,
  OracleArea,
  type OracleFix,
  type OracleShape,
  type Spot,
} from '../../testing/crossings-oracle.ts';
import {
  contextOf,
  geofenceOf,
  insideIds,
  type ReportSketch,
  RuleHarness,
  startMs,
} from '../../testing/rule-harness.ts';
import { geofenceRule } from './geofence-rule.ts';

fc.configureGlobal(propertySettings);

jest.setTimeout(campaignTimeoutMs(600_000));

/** More runs: PROPERTY_RUNS=20000. */
const numRuns = campaignSize({ what: 'drives', normal: 300, setting: 'PROPERTY_RUNS' });

/** Evenly distributed; most arbitrary doubles are near zero. */
const number = (min: number, max: number) =>
  fc.integer({ min: 0, max: 1_000_000 }).map((part) => min + ((max - min) * part) / 1_000_000);
const spot = (farM: number): fc.Arbitrary<Spot> => fc.tuple(number(-farM, farM), number(-farM, farM));

/** Corners at rising angles around a centre, at random distances: mostly concave. */
const star = fc
  .tuple(fc.array(number(60, 1_500), { minLength: 3, maxLength: 14 }), number(0, 6), spot(500))
  .map(([radii, turn, [x, y]]): OracleShape => {
    const angle = (at: number): number => turn + (2 * Math.PI * at) / radii.length;
    const spots = radii.map((radius, at): Spot => [x + radius * Math.cos(angle(at)), y + radius * Math.sin(angle(at))]);
    return { type: 'polygon', spots, reachM: 0 };
  });

/** A yard around a court that is open to one side. */
const court = fc
  .tuple(number(200, 1_000), number(200, 1_000), number(0.1, 0.4), number(0.1, 0.8), fc.boolean())
  .map(([width, height, wall, floor, isTurned]): OracleShape => {
    const [left, top] = [width * wall, height * (1 - floor)];
    const corners: Spot[] = [
      [0, 0],
      [width, 0],
      [width, height],
      [width - left, height],
      [width - left, height - top],
      [left, height - top],
      [left, height],
      [0, height],
    ];
    return { type: 'polygon', spots: corners.map(([x, y]) => (isTurned ? [y, -x] : [x, y])), reachM: 0 };
  });
const circle = fc
  .tuple(spot(800), number(20, 1_500))
  .map(([middle, reachM]): OracleShape => ({ type: 'circle', spots: [middle], reachM }));
const corridor = fc
  .tuple(fc.array(spot(1_500), { minLength: 2, maxLength: 8 }), number(5, 300))
  .filter(([spots]) =>
    spots.every(
      ([x, y], at) => at === 0 || Math.hypot(x - (spots[at - 1]?.[0] ?? 0), y - (spots[at - 1]?.[1] ?? 0)) > 1,
    ),
  )
  .map(([spots, reachM]): OracleShape => ({ type: 'corridor', spots, reachM }));
const shape = fc.oneof(star, court, circle, corridor);

/** A fix of a track, relative to the previous one or to a shape. */
const step = fc.record({
  to: fc.oneof(
    { weight: 3, arbitrary: fc.record({ by: spot(60) }) },
    { weight: 3, arbitrary: fc.record({ by: spot(700) }) },
    { weight: 2, arbitrary: fc.record({ at: spot(2_500) }) },
    // On a line from one corner to another, slightly beside it.
    { weight: 4, arbitrary: fc.record({ corner: fc.nat(20), part: number(0, 1), beside: spot(25) }) },
  ),
  seconds: fc.oneof(
    { weight: 9, arbitrary: fc.integer({ min: 1, max: 40 }) },
    { weight: 1, arbitrary: fc.integer({ min: -30, max: 0 }) },
  ),
  gpsValid: fc.oneof({ weight: 9, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const world = fc.record({
  latitude: number(-65, 65),
  // Also on the date line.
  longitude: fc.oneof(number(-180, 180), fc.constantFrom(180, -180, 179.995, -179.995)),
  shapes: fc.array(
    fc.record({
      shape,
      dwell: fc.option(fc.integer({ min: 60, max: 150 })),
      fromFix: fc.oneof(fc.constant(0), fc.nat(10)),
    }),
    {
      minLength: 1,
      maxLength: 4,
    },
  ),
  steps: fc.array(step, { minLength: 10, maxLength: 40 }),
});
type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

function nextSpot({ to }: Step, last: Spot, shapes: World['shapes']): Spot {
  if ('by' in to) return [last[0] + to.by[0], last[1] + to.by[1]];
  if ('at' in to) return to.at;
  const { spots, reachM } = (shapes[to.corner % shapes.length] ?? shapes[0])?.shape ?? { spots: [], reachM: 0 };
  const [from, end] = [spots[to.corner % spots.length] ?? last, spots[(to.corner + 1) % spots.length] ?? last];
  return [
    from[0] + to.part * (end[0] - from[0]) + to.beside[0],
    from[1] + to.part * (end[1] - from[1]) + to.beside[1] + reachM,
  ];
}

/** Returns the fixes whose side is clear, and all fixes. */
function trackOf(
  { shapes, steps }: World,
  areas: readonly OracleArea[],
): { counted: OracleFix[]; sketches: (ReportSketch & { spot: Spot })[] } {
  const counted: OracleFix[] = [];
  const sketches: (ReportSketch & { spot: Spot })[] = [];
  let ms = startMs;
  for (const each of steps) {
    const last = counted.at(-1);
    const spot = nextSpot(each, last?.spot ?? [0, 0], shapes);
    const at = ms + each.seconds * 1_000;
    const counts = each.gpsValid && (last === undefined || at > last.ms);
    const isDoubtful = areas.some(
      (area) => area.isDoubtful(spot) || (last !== undefined && area.isDoubtfulWay(last.spot, spot)),
    );
    // Equal time and another position: the contract does not define whether it counts.
    if ((counts && isDoubtful) || at === last?.ms) continue;
    sketches.push({ at: (at - startMs) / 1_000, spot, gpsValid: each.gpsValid, isLate: at < (last?.ms ?? at) });
    if (!counts) continue;
    counted.push({ spot, ms: at });
    ms = at;
  }
  return { counted, sketches };
}

describe('geofence rule compared with an oracle', () => {
  it('finds the same crossings on random tracks over random polygons, circles and corridors', () => {
    let found = 0;
    fc.assert(
      fc.property(world, (given) => {
        const { latitude, longitude, shapes } = given;
        const place = ([east, north]: Spot): Position => [
          latitude + north / degreeM,
          normalizeLongitude(longitude + east / (degreeM * Math.cos(toRadians(latitude)))),
        ];
        const areas = shapes.map((each) => new OracleArea(each.shape, latitude));
        const geofences = shapes.map(({ shape: { type, spots, reachM }, dwell }): Geofence => {
          const size = { circle: { radiusM: reachM }, corridor: { widthM: reachM * 2 }, polygon: {} }[type];
          return geofenceOf({ shape: { type, positions: spots.map(place), ...size }, dwellSeconds: dwell });
        });
        const { counted, sketches } = trackOf(given, areas);
        const runner = new RuleHarness(geofenceRule, contextOf());
        let fixes = 0;
        for (const { spot, ...sketch } of sketches) {
          const known = geofences.filter((_geofence, at) => (shapes[at]?.fromFix ?? 0) <= fixes);
          if (known.length !== runner.context.geofences.length) runner.context = contextOf({ geofences: known });
          runner.report({ ...sketch, place: place(spot) });
          if (counted[fixes]?.ms === startMs + sketch.at * 1_000 && sketch.gpsValid === true) fixes += 1;
        }
        for (const [at, area] of areas.entries()) {
          const [fromFix, dwell] = [shapes[at]?.fromFix ?? 0, shapes[at]?.dwell ?? null];
          const id = geofences[at]?._id;
          const expected = expectedEvents(area, counted.slice(fromFix), dwell);
          const raised = runner.findings.filter(({ attributes }) => attributes['geofence_id'] === id);
          expect(raised.map(({ attributes, atMs }) => ({ event: attributes['event'], ms: atMs }))).toEqual(expected);
          found += expected.length;
          const crossings = expected.filter(({ event }) => event !== 'dwell');
          const isInside =
            crossings.length > 0
              ? crossings.at(-1)?.event === 'enter'
              : area.depthM(counted[fromFix]?.spot ?? [1e6, 0]) >= 0;
          expect(insideIds(runner.state).includes(id ?? 0)).toBe(isInside && counted.length > fromFix);
        }
      }),
      { numRuns },
    );
    // Without crossings the test would be meaningless.
    expect(found).toBeGreaterThan(numRuns);
  });
});
