import { describe, expect, it } from '@jest/globals';
import { destination } from '../../geometry/positions.ts';
import { testPosition } from '../../testing/positions.ts';
import { defaultThresholds } from '../../testing/thresholds.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { advanceOdometer, type OdometerReport, type OdometerState, odometerOf } from './odometer.ts';
import type { Point } from './schema.ts';
import { simplify } from './simplify.ts';
import { type Trip, TripFinder } from './trips.ts';

const start = Date.parse('2026-01-31T08:00:00Z');
const home = [48.1, 11.5] as const;

/** Returns a point with offsets from the start in seconds and to the east in metres. */
const at = (
  seconds: number,
  eastM: number,
  more: Partial<LastLocation> = {},
  driverId: number | null = null,
): Point => {
  const [latitude, longitude] = destination(home, 90, eastM);
  const timestamp = start + seconds * 1_000;
  return {
    driverId,
    position: testPosition('1', {
      latitude,
      longitude,
      timestamp,
      ignition: null,
      slowSinceMs: null,
      alarms: [],
      ...more,
    }),
  };
};

/** Returns a drive at constant speed, with a point every ten seconds. */
const drive = (fromS: number, fromM: number, seconds: number, kmh = 36, more: Partial<LastLocation> = {}): Point[] =>
  Array.from({ length: seconds / 10 + 1 }, (_u, i) =>
    at(fromS + i * 10, fromM + (i * 10 * kmh) / 3.6, { speed: kmh, ...more }),
  );
const stand = (fromS: number, eastM: number, seconds: number, more: Partial<LastLocation> = {}): Point[] =>
  Array.from({ length: Math.floor(seconds / 30) + 1 }, (_u, i) => at(fromS + i * 30, eastM, { speed: 0, ...more }));

const tripsOf = (points: readonly Point[], nowS = 1_000_000): Trip[] => {
  const finder = new TripFinder(defaultThresholds.movingFromKmh);
  for (const each of points.toSorted((a, b) => a.position.timestamp - b.position.timestamp)) finder.add(each);
  return finder.end(start + nowS * 1_000);
};
const brief = (trips: readonly Trip[]) =>
  trips.map(({ startedAtMs, endedAtMs, distanceM }) => [
    (startedAtMs - start) / 1_000,
    endedAtMs === null ? null : (endedAtMs - start) / 1_000,
    Math.round(distanceM / 10) * 10,
  ]);

describe('trips', () => {
  it('last from the last report before movement to the first of a standstill of 5 minutes', () => {
    const trips = tripsOf([...stand(-90, 0, 60), ...drive(0, 0, 120), ...stand(130, 1_200, 400)]);
    expect(brief(trips)).toEqual([[-30, 130, 1_200]]);
    expect(trips[0]).toMatchObject({ idleMs: 0, maxSpeedKmh: 36, driverId: null });
  });

  it('include shorter stops, which count as idle time', () => {
    const trips = tripsOf([
      ...drive(0, 0, 100),
      ...stand(110, 1_000, 240),
      ...drive(360, 1_000, 100),
      ...stand(470, 2_000, 600),
    ]);
    expect(brief(trips)).toEqual([[0, 470, 2_000]]);
    expect(trips[0]?.idleMs).toBe(250_000);
  });

  it('are split by a longer stop', () => {
    const points = [
      ...drive(0, 0, 100),
      ...stand(110, 1_000, 600),
      ...drive(720, 1_000, 100),
      ...stand(830, 2_000, 400),
    ];
    expect(brief(tripsOf(points))).toEqual([
      [0, 110, 1_000],
      [710, 830, 1_000],
    ]);
  });

  it('end with the ignition, and include the standstill before it', () => {
    const on = { ignition: true };
    const points = [...drive(0, 0, 100, 36, on), ...stand(110, 1_000, 60, on), at(180, 1_000, { ignition: false })];
    const trips = tripsOf(points);
    expect(brief(trips)).toEqual([[0, 180, 1_000]]);
    expect(trips[0]?.idleMs).toBe(70_000);
  });

  it('end with the ignition even if its report has no fix', () => {
    const points = [...drive(0, 0, 100, 36, { ignition: true }), at(130, 0, { ignition: false, gpsValid: false })];
    expect(brief(tripsOf(points))).toEqual([[0, 130, 1_000]]);
  });

  it('exclude towing with the ignition off', () => {
    const points = [at(-600, 0, { ignition: true }), ...drive(0, 0, 300, 36, { ignition: false })];
    expect(tripsOf(points)).toEqual([]);
  });

  it.each([null, false])('are found by movement alone if the ignition is always %s', (ignition) => {
    const points = [...drive(0, 0, 120, 36, { ignition }), ...stand(130, 1_200, 400, { ignition })];
    expect(brief(tripsOf(points))).toEqual([[0, 130, 1_200]]);
  });

  it('are found if the terminal sends no speed', () => {
    const points = drive(0, 0, 200).map(({ position, driverId }) => ({
      driverId,
      position: { ...position, speed: 0 },
    }));
    expect(brief(tripsOf([...points, ...stand(210, 2_000, 400)]))).toEqual([[0, 210, 2_000]]);
  });

  it.each([
    ['under 300 m', [...drive(0, 0, 80, 13), ...stand(90, 289, 400)]],
    ['under 60 s', [...drive(0, 0, 40, 72), ...stand(50, 800, 400)]],
  ])('of %s are left out', (_case, points) => expect(tripsOf(points)).toEqual([]));

  it('continue over midnight', () => {
    const midnight = 16 * 3_600;
    const trips = tripsOf([...drive(midnight - 600, 0, 1_200), ...stand(midnight + 610, 12_000, 400)]);
    expect(brief(trips)).toEqual([[midnight - 600, midnight + 610, 12_000]]);
  });

  it('in progress have no end', () => {
    const trips = tripsOf(drive(0, 0, 120), 200);
    expect(brief(trips)).toEqual([[0, null, 1_200]]);
    expect(trips[0]).toMatchObject({ end: null, lastAtMs: start + 120_000 });
    expect(brief(tripsOf([...drive(0, 0, 120), ...stand(130, 1_200, 120)], 300))).toEqual([[0, null, 1_200]]);
  });

  it('end with the last report if no other follows for longer than a standstill', () => {
    expect(brief(tripsOf(drive(0, 0, 120), 421))).toEqual([[0, 120, 1_200]]);
  });

  it('continue after a gap during which the vehicle moved on', () => {
    const trips = tripsOf([...drive(0, 0, 100), ...drive(1_000, 10_000, 100), ...stand(1_110, 11_000, 400)]);
    expect(brief(trips)).toEqual([[0, 1_110, 11_000]]);
  });

  it('end before a gap during which the vehicle did not move, or of more than an hour', () => {
    const after = (seconds: number, eastM: number) => [
      ...drive(seconds, eastM, 100),
      ...stand(seconds + 110, eastM + 1_000, 400),
    ];
    expect(brief(tripsOf([...drive(0, 0, 100), ...after(1_000, 1_020)]))).toEqual([
      [0, 100, 1_000],
      [1_000, 1_110, 1_000],
    ]);
    expect(brief(tripsOf([...drive(0, 0, 100), ...after(4_000, 60_000)]))).toEqual([
      [0, 100, 1_000],
      [4_000, 4_110, 1_000],
    ]);
  });

  it('ignore jumps of the receiver and invalid fixes', () => {
    const points = [
      ...drive(0, 0, 120),
      at(45, 90_000, { speed: 36 }),
      at(65, 0, { gpsValid: false, speed: 250 }),
      at(75, 0, { latitude: 0, longitude: 0, speed: 99 }),
      ...stand(130, 1_200, 400),
    ];
    const trips = tripsOf(points);
    expect(brief(trips)).toEqual([[0, 130, 1_200]]);
    expect(trips[0]?.maxSpeedKmh).toBe(36);
  });

  it('accept a receiver that stays where it jumped to, without the distance of the jump', () => {
    const trips = tripsOf([...drive(0, 0, 100), ...drive(110, 90_000, 120), ...stand(240, 91_200, 400)]);
    expect(brief(trips)).toEqual([[0, 240, 2_000]]);
  });

  it('are the same if the points of a gap arrive late', () => {
    const points = [...drive(0, 0, 600), ...stand(610, 6_000, 400)];
    const late = points.filter(
      ({ position }) => position.timestamp > start + 200_000 && position.timestamp < start + 400_000,
    );
    const others = points.filter((each) => !late.includes(each));
    expect(brief(tripsOf([...others, ...late]))).toEqual(brief(tripsOf(points)));
    expect(brief(tripsOf(points))).toEqual([[0, 610, 6_000]]);
  });

  it('do not grow while a standing receiver drifts', () => {
    const wandering = Array.from({ length: 9 }, (_u, i) => at(130 + i * 30, 1_200 + (i % 2) * 25, { speed: 2 }));
    const trips = tripsOf([...drive(0, 0, 120), ...wandering, ...drive(400, 1_200, 100), ...stand(510, 2_200, 400)]);
    expect(brief(trips)).toEqual([[0, 510, 2_200]]);
  });

  it('have the driver, and a line of few points', () => {
    const points = drive(0, 0, 600).map((each, i) => ({ ...each, driverId: i < 3 ? null : 7 }));
    const [trip] = tripsOf([...points, ...stand(610, 6_000, 400)]);
    expect(trip?.driverId).toBe(7);
    expect(trip?.line.length).toBeLessThan(5);
    expect(trip?.line.at(-1)?.position.timestamp).toBe(start + 610_000);
  });
});

describe('simplified', () => {
  const place = ({ position }: Point) => [position.latitude, position.longitude] as const;
  const line = drive(0, 0, 1_000);
  it('retains the ends of a straight line, and its bends', () => {
    expect(simplify(line, 5, place)).toEqual([line[0], line.at(-1)]);
    const bend = at(505, 5_000, { latitude: 48.101 });
    const bent = [...line.slice(0, 50), bend, ...line.slice(51)];
    expect(simplify(bent, 50, place)).toContain(bend);
    expect(simplify(bent, 150, place)).not.toContain(bend);
  });
  it.each([[0], [-1]])('retains all points with a tolerance of %d metres', (tolerance) =>
    expect(simplify(line, tolerance, place)).toHaveLength(101),
  );
  it.each([[0], [1], [2]])('retains a line of %d points', (length) =>
    expect(simplify(line.slice(0, length), 500, place)).toHaveLength(length),
  );
  it('accepts a line of many points', () => {
    const many = Array.from({ length: 5_000 }, (_u, i) => at(i, i * 3, { latitude: 48.1 + (i % 2) / 1_000 }));
    expect(simplify(many, 10, place).length).toBeGreaterThan(4_000);
  });
});

describe('advanceOdometer', () => {
  const report = (seconds: number, eastM: number, odometerKm: number | null, more: Partial<LastLocation> = {}) =>
    at(seconds, eastM, { speed: 36, odometerKm, ...more }).position;
  const run = (reports: readonly OdometerReport[], from?: OdometerState) => {
    let state = from;
    for (const each of reports) ({ state } = advanceOdometer(state, each, defaultThresholds));
    return { state, km: Math.round((state?.travelledKm ?? 0) * 1_000) / 1_000 };
  };

  it('follows the mileage of the terminal', () => {
    expect(run([report(0, 0, 1_000), report(60, 590, 1_000.6), report(120, 1_190, 1_001.3)]).km).toBe(1.3);
  });
  it('follows the fixes if the terminal has no mileage, or a constant one', () => {
    const ways = [0, 600, 1_200, 1_800, 2_400, 3_000];
    expect(run(ways.map((eastM, i) => report(i * 60, eastM, null))).km).toBe(3);
    expect(run(ways.map((eastM, i) => report(i * 60, eastM, 0))).km).toBe(3);
  });
  it('counts no distance twice if the mileage stops and then continues', () => {
    const dead = [0, 600, 1_200, 1_800, 2_400].map((eastM, i) => report(i * 60, eastM, 50));
    expect(run([...dead, report(300, 3_000, 53), report(360, 3_600, 53.6)]).km).toBe(3.6);
  });
  it('counts no distance twice if some reports have no mileage', () => {
    const some = (odometerOfReport: (i: number) => number | null) =>
      run(Array.from({ length: 13 }, (_u, i) => report(i * 60, i * 600, odometerOfReport(i)))).km;
    expect(some((i) => (i % 2 === 0 ? 100 + i * 0.6 : null))).toBe(7.2);
    expect(some((i) => (i % 6 === 0 ? 100 + i * 0.6 : null))).toBe(7.2);
    expect(some((i) => (i === 0 ? 100 : i < 6 ? null : 103.6 + (i - 6) * 0.6))).toBe(7.2);
  });
  it('compares a mileage with the time since the last report that had one', () => {
    // The fixes cover only half of the driven distance; the mileage must supply the rest.
    const few = Array.from({ length: 21 }, (_u, i) => report(i * 60, i * 300, i % 10 === 0 ? 100 + i * 0.6 : null));
    expect(run(few).km).toBe(12);
    // A state stored before `mileageAtMs` existed falls back to the time of the last report.
    const { mileageAtMs: _unknown, ...old } = run([report(0, 0, 100)]).state as OdometerState;
    expect(run([report(60, 300, 100.6)], old).km).toBe(0.6);
  });
  it('continues after a reset of the mileage, using the fixes for that step', () => {
    expect(
      run([report(0, 0, 5_000), report(60, 600, 5_000.6), report(120, 1_200, 0), report(180, 1_800, 0.6)]).km,
    ).toBe(1.8);
  });
  it('ignores a mileage that cannot have been driven', () => {
    expect(run([report(0, 0, 10), report(60, 600, 9_999), report(120, 1_200, 9_999.6)]).km).toBe(1.2);
  });
  it('ignores jumps, invalid fixes, and the drift of a standing receiver', () => {
    expect(run([report(0, 0, null), report(60, 90_000, null), report(120, 1_200, null)]).km).toBe(1.2);
    expect(run([report(0, 0, null), report(60, 600, null, { gpsValid: false }), report(120, 1_200, null)]).km).toBe(
      1.2,
    );
    const wandering = Array.from({ length: 50 }, (_u, i) => report(i * 30, (i % 3) * 9, null, { speed: 1 }));
    expect(run(wandering).km).toBe(0);
  });
  it('counts a report once, and ignores older ones', () => {
    const reports = [report(0, 0, 10), report(60, 600, 10.6)];
    const { state } = run(reports);
    expect(run([...reports, report(30, 300, 10.3)], state)).toEqual({ state, km: 0.6 });
  });
  it('starts at zero', () => expect(run([report(0, 0, 123_456)]).km).toBe(0));
});

describe('odometerOf', () => {
  it.each([
    [{ odometerKm: 1_000, odometerTravelledKm: 50 }, 62.34, 1_012.3],
    [{ odometerKm: 1_000 }, 12, 1_012],
    [{ odometerKm: 1_000, odometerTravelledKm: 50 }, 3, 1_000],
  ])('returns for %j at %d km: %d', (offset, travelledKm, response) =>
    expect(odometerOf(offset, travelledKm)).toBe(response),
  );
});
