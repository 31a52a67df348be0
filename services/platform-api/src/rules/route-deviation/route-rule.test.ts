import { describe, expect, it } from '@jest/globals';
import { progressFromState, type RouteState } from '../../domains/planned-routes/progress.ts';
import type { StoredRoute, Waypoint } from '../../domains/planned-routes/schema.ts';
import type { Position } from '../../geometry/positions.ts';
import { away, contextOf, type ReportSketch, RuleHarness, routeOf, startMs } from '../../testing/rule-harness.ts';
import { routeRule } from './route-rule.ts';

const driving = (...routes: readonly StoredRoute[]): RuleHarness<RouteState> =>
  new RuleHarness(routeRule, contextOf({ routes }));

/** Fixes at seconds, metres north and east of the centre. */
const fixes = (...places: readonly (readonly [at: number, northM: number, eastM?: number])[]): ReportSketch[] =>
  places.map(([at, northM, eastM = 0]) => ({ at, place: away(northM, eastM) }));

const waypoint = ([lat, lng]: Position, name: string | null = null, radiusM = 50): Waypoint => ({
  lat,
  lng,
  name,
  radiusM,
  stopSeconds: null,
});

/** Straight to the north, 10 km, without waypoints. */
const straight = (fields: Partial<StoredRoute> = {}): StoredRoute => routeOf([away(0), away(10_000)], fields);
const deviations = (runner: RuleHarness<RouteState>): string[] =>
  runner.summaries(({ type, attributes }) => `${type} ${String(attributes['event'])}`);
const onlyDeviation = { notifyOn: ['deviation', 'return'] } as const;

describe('deviations from routes', () => {
  it('are found after 3 fixes beyond deviation_m', () => {
    const route = straight();
    expect(
      driving(route)
        .report(...fixes([0, 500], [5, 1_000, 101], [10, 1_100, 150]))
        .summaries(),
    ).toEqual([]);
    const runner = driving(route).report(...fixes([0, 500], [5, 1_000, 101], [10, 1_100, 150], [15, 1_200, 300]));
    expect(runner.findings).toEqual([
      {
        type: 'route_deviation',
        subject: String(route._id),
        atMs: startMs + 15_000,
        latitude: expect.closeTo(away(1_200, 300)[0], 9),
        longitude: expect.closeTo(away(1_200, 300)[1], 9),
        gpsValid: true,
        attributes: { event: 'deviation', route_id: route._id, route_name: 'North', distance_m: 300 },
        backfilled: false,
      },
    ]);
  });

  it('or after 60 seconds', () => {
    expect(deviations(driving(straight(onlyDeviation)).report(...fixes([0, 500, 200], [59, 600, 200])))).toEqual([]);
    expect(deviations(driving(straight(onlyDeviation)).report(...fixes([0, 500, 200], [60, 600, 200])))).toEqual([
      '60 route_deviation deviation',
    ]);
  });

  it('need consecutive fixes', () => {
    const runner = driving(straight(onlyDeviation));
    runner.report(...fixes([0, 0, 200], [5, 0, 200], [10, 0, 99], [15, 0, 200], [20, 0, 200]));
    expect(deviations(runner)).toEqual([]);
  });

  it('are found once until the vehicle is back', () => {
    const runner = driving(straight(onlyDeviation));
    runner.report(...fixes([0, 0, 200], [5, 0, 200], [10, 0, 200], [20, 0, 900], [300, 0, 900], [400, 0, 900]));
    expect(deviations(runner)).toEqual(['10 route_deviation deviation']);
    runner.report(...fixes([410, 500], [420, 500, 200], [425, 500, 200], [430, 500, 200]));
    expect(deviations(runner).slice(1)).toEqual(['410 route return', '430 route_deviation deviation']);
  });

  it('have no return without a deviation', () => {
    expect(deviations(driving(straight()).report(...fixes([0, 500, 200], [5, 500, 200], [10, 500])))).toEqual([]);
  });

  it('ignore invalid, late and old fixes', () => {
    const beyond: ReportSketch = { at: 10, place: away(500, 200) };
    for (const change of [{ gpsValid: false }, { isLate: true }, { at: 4 }])
      expect(
        deviations(driving(straight()).report(...fixes([0, 500, 200], [5, 500, 200]), { ...beyond, ...change })),
      ).toEqual([]);
  });

  it('use the deviation of the route', () => {
    const route = straight({ deviationM: 1_000 });
    expect(
      driving(route)
        .report(...fixes([0, 500, 900], [5, 500, 900], [10, 500, 900]))
        .summaries(),
    ).toEqual([]);
  });

  it('are separate for each route', () => {
    const [north, east] = [straight(), routeOf([away(0), away(0, 10_000)])];
    const runner = driving(north, east).report(...fixes([0, 5_000], [5, 5_000], [10, 5_000]));
    expect(runner.summaries()).toEqual([`10 ${east._id}`]);
  });
});

describe('events of routes', () => {
  const stops = [waypoint(away(0), 'Depot'), waypoint(away(3_000), 'Shop'), waypoint(away(10_000), 'Customer')];
  const toCustomer = (fields: Partial<StoredRoute> = {}): StoredRoute => straight({ waypoints: stops, ...fields });

  it('report waypoints in order, and the end', () => {
    const route = toCustomer();
    const runner = driving(route).report(
      ...fixes([0, 10], [10, 500], [20, 2_960], [30, 2_990], [40, 3_100], [50, 9_980], [60, 9_990]),
    );
    const id = route._id;
    expect(runner.summaries()).toEqual([`0 ${id}:0`, `20 ${id}:1`, `50 ${id}:2`, `50 ${id}:completed`]);
    expect(runner.findings[1]).toMatchObject({
      type: 'route',
      attributes: {
        event: 'waypoint_arrival',
        route_id: id,
        route_name: 'North',
        waypoint_index: 1,
        waypoint_name: 'Shop',
      },
    });
  });

  it('find a waypoint between two fixes', () => {
    const runner = driving(toCustomer()).report(...fixes([0, 0], [60, 2_500], [90, 3_500]));
    expect(runner.summaries(({ attributes }) => String(attributes['waypoint_name']))).toEqual(['0 Depot', '90 Shop']);
  });

  it('skip an omitted waypoint', () => {
    const route = toCustomer({ notifyOn: ['waypoint_arrival', 'completed'] });
    const runner = driving(route).report(...fixes([0, 0], [60, 1_000, 500], [200, 9_000, 500], [300, 9_990]));
    expect(runner.summaries(({ attributes }) => JSON.stringify(attributes['waypoint_index']))).toEqual([
      '0 0',
      '300 2',
      '300 undefined',
    ]);
  });

  it('do not report an end at which the vehicle already stands', () => {
    expect(
      driving(toCustomer())
        .report(...fixes([0, 9_990], [10, 9_995], [20, 9_990]))
        .summaries(),
    ).toEqual([]);
  });

  it('complete a route without waypoints at its end', () => {
    const route = straight();
    const runner = driving(route).report(...fixes([0, 0], [60, 5_000], [120, 9_960], [180, 10_000]));
    expect(runner.summaries()).toEqual([`120 ${route._id}:completed`]);
  });

  it('complete a round trip at its end, each time', () => {
    const corners = [away(0), away(3_000), away(3_000, 3_000), away(0, 3_000)];
    const waypoints = [...corners, away(0)].map((each) => waypoint(each));
    const route = routeOf([...corners, away(0)], { waypoints });
    const round = (at: number): ReportSketch[] =>
      fixes([at, 10], [at + 100, 3_000], [at + 200, 3_000, 3_000], [at + 300, 0, 3_000], [at + 400, 10, 5]);
    const id = route._id;
    const runner = driving(route).report(...round(0));
    expect(runner.summaries()).toEqual([
      `0 ${id}:0`,
      `100 ${id}:1`,
      `200 ${id}:2`,
      `300 ${id}:3`,
      `400 ${id}:4`,
      `400 ${id}:completed`,
    ]);
    runner.report(...round(500).slice(1));
    expect(runner.summaries().slice(6)).toEqual([
      `600 ${id}:1`,
      `700 ${id}:2`,
      `800 ${id}:3`,
      `900 ${id}:4`,
      `900 ${id}:completed`,
    ]);
  });

  it('restart when the vehicle is back at the start', () => {
    const runner = driving(toCustomer({ notifyOn: ['completed'] }));
    const trip = (at: number): ReportSketch[] => fixes([at, 0], [at + 100, 3_000], [at + 200, 10_000]);
    expect(runner.report(...trip(0), ...fixes([400, 5_000]), ...trip(500)).summaries()).toHaveLength(2);
  });

  it('are limited to notify_on', () => {
    const route = toCustomer({ notifyOn: ['return'] });
    const runner = driving(route).report(
      ...fixes([0, 0], [5, 0, 300], [10, 0, 300], [15, 0, 300], [20, 100], [99, 3_000], [200, 10_000]),
    );
    expect(runner.summaries()).toEqual([`20 ${route._id}:return`]);
  });

  it('do not occur outside the schedule, and restart with the next one', () => {
    // Second 0 is Saturday, 10:00 in Shanghai.
    const schedule = { timezone: 'Asia/Shanghai', days: [6], from: '10:10', to: '11:00' };
    const runner = driving(toCustomer({ schedule }));
    runner.report(...fixes([0, 0], [5, 500, 300], [10, 500, 300], [15, 500, 300], [20, 500, 300]));
    expect([runner.summaries(), runner.state?.routes]).toEqual([[], {}]);
    runner.report(...fixes([600, 500, 300], [605, 500, 300], [610, 500, 300]));
    expect(deviations(runner)).toEqual(['610 route_deviation deviation']);
    runner.report(...fixes([3_700, 500, 300]));
    expect(runner.state?.routes).toEqual({});
  });

  it('do not occur while the route is inactive', () => {
    const runner = driving(straight({ active: false })).report(...fixes([0, 0, 200], [5, 0, 200], [10, 0, 200]));
    expect(runner.summaries()).toEqual([]);
  });

  it('restart with another path', () => {
    const route = toCustomer();
    const runner = driving(route).report(...fixes([0, 0], [60, 3_000], [90, 5_000]));
    const { points, bounds, distanceM } = routeOf([away(0), away(0, 10_000)]);
    runner.context = contextOf({ routes: [{ ...route, points, bounds, distanceM, waypoints: [] }] });
    expect(runner.report(...fixes([100, 0, 10])).state?.routes[route._id]).toMatchObject({ next: 1 });
    expect(runner.summaries()).toHaveLength(2);
  });
});

describe('progress on a route', () => {
  const waypoints = [waypoint(away(0)), waypoint(away(3_000)), waypoint(away(10_000))];

  it('is the next waypoint and the remaining distance', () => {
    const route = straight({ waypoints, durationSeconds: 1_000 });
    const runner = driving(route).report(...fixes([0, 0], [60, 4_000]));
    expect(progressFromState(route, runner.state)).toEqual({
      waypointIndex: 2,
      distanceRemainingM: expect.closeTo(6_000, -2),
      secondsRemaining: 600,
      isOffRoute: false,
    });
    runner.report(...fixes([90, 4_000, 500]));
    expect(progressFromState(route, runner.state)).toMatchObject({ waypointIndex: 2, isOffRoute: true });
    runner.report(...fixes([120, 10_000]));
    expect(progressFromState(route, runner.state)).toMatchObject({ waypointIndex: 2, distanceRemainingM: 0 });
  });

  it('distinguishes both directions of the same road', () => {
    const route = routeOf([away(0), away(5_000), away(0)], { durationSeconds: 1_000 });
    const runner = driving(route);
    const left = (): number => Math.round((progressFromState(route, runner.state)?.distanceRemainingM ?? 0) / 100);
    const seen = [0, 1_000, 4_950, 5_000, 4_940, 4_800, 4_000, 1_000].map((northM, at) => {
      runner.report(...fixes([at * 30, northM]));
      return left();
    });
    expect(seen).toEqual([100, 90, 51, 50, 49, 48, 40, 10]);
  });

  it('decreases for a vehicle that turns back', () => {
    const route = straight({ durationSeconds: 1_000 });
    const runner = driving(route).report(...fixes([0, 0], [60, 4_000], [90, 3_000]));
    expect(progressFromState(route, runner.state)?.distanceRemainingM).toBeCloseTo(7_000, -2);
  });

  it('is unknown for another path, and before the vehicle was on it', () => {
    const route = straight();
    expect(progressFromState(route, undefined)).toBeNull();
    const runner = driving(route).report(...fixes([0, 0, 5_000]));
    expect(progressFromState(route, runner.state)).toBeNull();
    runner.report(...fixes([60, 0]));
    expect(progressFromState(route, runner.state)).not.toBeNull();
    expect(progressFromState({ ...routeOf([away(0), away(0, 900)]), _id: route._id }, runner.state)).toBeNull();
  });

  it('finds positions on a long path of many points', () => {
    const line = Array.from({ length: 1_000 }, (_none, at) => away(at * 100, at % 2 === 0 ? 0 : 20));
    const route = routeOf(line);
    const runner = driving(route).report(...fixes([0, 0], [60, 51_230, 30]));
    const done = 1 - (progressFromState(route, runner.state)?.distanceRemainingM ?? 0) / route.distanceM;
    expect(done).toBeCloseTo(51_230 / 99_900, 3);
  });
});
