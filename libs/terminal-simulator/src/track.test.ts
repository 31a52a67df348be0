import { describe, expect, it } from '@jest/globals';
import { builtInTracks, trackForVehicle } from './built-in-tracks.ts';
import { bearingDeg, createLoopTrack, createParkedTrack, createStraightTrack, distanceM, turnDeg } from './track.ts';

const berlin = { latitudeDeg: 52.5163, longitudeDeg: 13.3777 };
const seconds = (count: number): number[] => Array.from({ length: count }, (_unused, index) => index);

describe('geometry', () => {
  it('computes the length of a degree of latitude and the bearings of the four directions', () => {
    const north = { ...berlin, latitudeDeg: berlin.latitudeDeg + 1 };
    expect(distanceM(berlin, north) / 1000).toBeCloseTo(111.19, 1);
    expect(bearingDeg(berlin, north)).toBeCloseTo(0);
    expect(bearingDeg(north, berlin)).toBeCloseTo(180);
    expect(bearingDeg(berlin, { ...berlin, longitudeDeg: 13.4 })).toBeCloseTo(90, 1);
    expect(turnDeg(350, 10)).toBe(20);
    expect(turnDeg(10, 350)).toBe(20);
  });
});

describe.each(Object.entries(builtInTracks))('built-in track %s', (_name, track) => {
  const points = seconds(1800).map((second) => track.at(second * 1000));

  it('moves like a car: no jumps, no impossible braking, no excessive speed', () => {
    const steps = points.slice(1).map((point, index) => {
      const before = points[index] ?? point;
      return {
        jumpM: distanceM(before, point),
        brakingKmh: Math.abs(point.speedKmh - before.speedKmh),
        backM: before.distanceM - point.distanceM,
      };
    });
    expect(Math.max(...steps.map((step) => step.jumpM))).toBeLessThan(25);
    expect(Math.max(...steps.map((step) => step.brakingKmh))).toBeLessThan(40);
    expect(Math.max(...steps.map((step) => step.backM))).toBeLessThanOrEqual(0);
    expect(Math.max(...points.map((point) => point.speedKmh))).toBeLessThanOrEqual(90);
  });

  it('drives, waits at lights, and turns the engine off at its depot', () => {
    expect(Math.max(...points.map((point) => point.speedKmh))).toBeGreaterThan(40);
    expect(points.some((point) => point.speedKmh === 0 && point.isIgnitionOn)).toBe(true);
    expect(points.some((point) => !point.isIgnitionOn)).toBe(true);
  });

  it('points in the direction of movement', () => {
    const moving = points.flatMap((point, index) => {
      const next = points[index + 1];
      return next !== undefined && point.speedKmh > 20 && next.speedKmh > 20 ? [{ point, next }] : [];
    });
    const agreeing = moving.filter(({ point, next }) => turnDeg(bearingDeg(point, next), point.directionDeg) < 15);
    expect(agreeing.length / moving.length).toBeGreaterThan(0.9);
    expect(Math.max(...points.map((point) => point.directionDeg))).toBeLessThan(360);
  });
});

describe('tracks', () => {
  it('repeats a loop track forever', () => {
    const track = createLoopTrack('square', [
      { latitudeDeg: 0, longitudeDeg: 0 },
      { latitudeDeg: 0, longitudeDeg: 0.002 },
      { latitudeDeg: 0.002, longitudeDeg: 0.002 },
    ]);
    const far = track.at(3_600_000);
    expect(far.distanceM).toBeGreaterThan(5000);
    expect(distanceM({ latitudeDeg: 0, longitudeDeg: 0 }, far)).toBeLessThan(500);
    expect(track.at(3_600_000)).toEqual(far);
  });

  it('requires two points', () => {
    expect(() => createLoopTrack('dot', [berlin])).toThrow(/two waypoints/);
  });

  it('moves straight on at its speed', () => {
    const track = createStraightTrack(berlin, { directionDeg: 90, speedKmh: 72 });
    expect(distanceM(track.at(0), track.at(60_000))).toBeCloseTo(1200, -1);
    expect(track.at(60_000).latitudeDeg).toBeCloseTo(berlin.latitudeDeg, 6);
  });

  it('stands still with the engine off', () => {
    expect(createParkedTrack(berlin).at(99_999)).toMatchObject({ ...berlin, speedKmh: 0, isIgnitionOn: false });
  });

  it('assigns a track to every vehicle of a fleet', () => {
    expect(new Set(seconds(4).map((index) => trackForVehicle(index).name)).size).toBe(4);
    expect(trackForVehicle(4)).toBe(trackForVehicle(0));
  });
});
