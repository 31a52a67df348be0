/** Position and movement of a vehicle. */
export interface TrackPoint {
  latitudeDeg: number;
  longitudeDeg: number;
  altitudeM: number;
  speedKmh: number;
  /** 0-359, north 0, clockwise. */
  directionDeg: number;
  isIgnitionOn: boolean;
  /** Distance driven since the start of the track. */
  distanceM: number;
}

/** A drive as a function of time: the same elapsed time always returns the same point. */
export interface Track {
  readonly name: string;
  at(elapsedMs: number): TrackPoint;
}

/** A corner or a light on a road. */
export interface Waypoint {
  latitudeDeg: number;
  longitudeDeg: number;
  altitudeM?: number;
  /** Speed on the way to the next waypoint. */
  cruiseKmh?: number;
  /** Seconds to wait here, for example at a light. */
  stopS?: number;
  /** Turns the ignition off while waiting. */
  parked?: boolean;
}

const earthRadiusM = 6_371_000;
const toRadians = (degrees: number): number => (degrees * Math.PI) / 180;
const toDegrees = (radian: number): number => (radian * 180) / Math.PI;

type Coordinates = Pick<Waypoint, 'latitudeDeg' | 'longitudeDeg'>;

/** Returns the distance along the ground, accurate to a fraction of a percent at city size. */
export function distanceM(from: Coordinates, to: Coordinates): number {
  const a =
    Math.sin(toRadians(to.latitudeDeg - from.latitudeDeg) / 2) ** 2 +
    Math.cos(toRadians(from.latitudeDeg)) *
      Math.cos(toRadians(to.latitudeDeg)) *
      Math.sin(toRadians(to.longitudeDeg - from.longitudeDeg) / 2) ** 2;
  return 2 * earthRadiusM * Math.asin(Math.sqrt(a));
}

/** Returns the initial bearing from one point to another. */
export function bearingDeg(from: Coordinates, to: Coordinates): number {
  const [latA, latB] = [toRadians(from.latitudeDeg), toRadians(to.latitudeDeg)];
  const dLon = toRadians(to.longitudeDeg - from.longitudeDeg);
  const y = Math.sin(dLon) * Math.cos(latB);
  const x = Math.cos(latA) * Math.sin(latB) - Math.sin(latA) * Math.cos(latB) * Math.cos(dLon);
  return (toDegrees(Math.atan2(y, x)) + 360) % 360;
}

/** Returns the smallest angle between two headings. */
export function turnDeg(from: number, to: number): number {
  return Math.abs(((to - from + 540) % 360) - 180);
}

interface Leg {
  from: Waypoint;
  to: Waypoint;
  lengthM: number;
  headingDeg: number;
  cruiseMs: number;
  /** Speed at which the end of the leg can be passed: slow for a sharp turn, 0 for a stop. */
  endMs: number;
}

const acceleration = 1.6;
const braking = 2.2;
const stepS = 1;

function buildLegs(waypoints: readonly Waypoint[]): Leg[] {
  const legs = waypoints.map((from, index) => {
    const to = waypoints[(index + 1) % waypoints.length] ?? from;
    const cruiseMs = (from.cruiseKmh ?? 45) / 3.6;
    return { from, to, lengthM: distanceM(from, to), headingDeg: bearingDeg(from, to), cruiseMs, endMs: 0 };
  });
  for (const [index, leg] of legs.entries()) {
    const next = legs[(index + 1) % legs.length] ?? leg;
    const turn = turnDeg(leg.headingDeg, next.headingDeg);
    const cornerMs = turn > 60 ? 5 : turn > 25 ? 9 : Math.min(leg.cruiseMs, next.cruiseMs);
    leg.endMs = (leg.to.stopS ?? 0) > 0 ? 0 : cornerMs;
  }
  return legs;
}

const interpolate = (a: number, b: number, share: number): number => a + (b - a) * share;

function pointOnLeg(leg: Leg, doneM: number, speedMs: number, totalM: number): TrackPoint {
  const share = Math.min(1, doneM / leg.lengthM);
  return {
    latitudeDeg: interpolate(leg.from.latitudeDeg, leg.to.latitudeDeg, share),
    longitudeDeg: interpolate(leg.from.longitudeDeg, leg.to.longitudeDeg, share),
    altitudeM: Math.round(interpolate(leg.from.altitudeM ?? 40, leg.to.altitudeM ?? 40, share)),
    speedKmh: speedMs * 3.6,
    directionDeg: Math.round(leg.headingDeg) % 360,
    isIgnitionOn: true,
    distanceM: totalM,
  };
}

/** Simulates one loop, with a point per second. */
function simulateDrive(waypoints: readonly Waypoint[]): TrackPoint[] {
  const points: TrackPoint[] = [];
  let totalM = 0;
  let speed = 0;
  for (const leg of buildLegs(waypoints)) {
    let doneM = 0;
    while (doneM < leg.lengthM) {
      points.push(pointOnLeg(leg, doneM, speed, totalM + doneM));
      // Brakes so late that the corner is passed at its speed.
      const brakingLimit = Math.sqrt(leg.endMs ** 2 + 2 * braking * (leg.lengthM - doneM));
      speed = Math.max(1, Math.min(speed + acceleration * stepS, leg.cruiseMs, brakingLimit));
      doneM += speed * stepS;
    }
    totalM += leg.lengthM;
    const stopS = leg.to.stopS ?? 0;
    if (stopS > 0) speed = 0;
    const stoppedPoint = { ...pointOnLeg(leg, leg.lengthM, 0, totalM), isIgnitionOn: leg.to.parked !== true };
    for (let waitedS = 0; waitedS < stopS; waitedS += stepS) points.push(stoppedPoint);
  }
  return points;
}

/** Creates a drive around a list of waypoints that repeats forever, with corners, lights and pauses. */
export function createLoopTrack(name: string, waypoints: readonly Waypoint[]): Track {
  if (waypoints.length < 2) throw new RangeError('a track needs at least two waypoints');
  const points = simulateDrive(waypoints);
  const loopM = buildLegs(waypoints).reduce((sum, leg) => sum + leg.lengthM, 0);
  return {
    name,
    at(elapsedMs) {
      const seconds = Math.max(0, elapsedMs) / 1000;
      const index = Math.floor(seconds);
      const laps = Math.floor(index / points.length);
      const current = points[index % points.length];
      const next = points[(index + 1) % points.length];
      if (current === undefined || next === undefined) throw new RangeError('a track needs at least one point');
      const share = seconds - index;
      return {
        ...current,
        latitudeDeg: interpolate(current.latitudeDeg, next.latitudeDeg, share),
        longitudeDeg: interpolate(current.longitudeDeg, next.longitudeDeg, share),
        speedKmh: interpolate(current.speedKmh, next.speedKmh, share),
        distanceM: laps * loopM + current.distanceM,
      };
    },
  };
}

/** Creates a drive straight on forever, at one speed. */
export function createStraightTrack(
  start: Coordinates,
  options: { directionDeg?: number; speedKmh?: number } = {},
): Track {
  const { directionDeg = 90, speedKmh = 60 } = options;
  return {
    name: 'straight',
    at(elapsedMs) {
      const distance = (speedKmh / 3.6) * (elapsedMs / 1000);
      const north = toDegrees((distance * Math.cos(toRadians(directionDeg))) / earthRadiusM);
      const east = toDegrees((distance * Math.sin(toRadians(directionDeg))) / earthRadiusM);
      return {
        latitudeDeg: start.latitudeDeg + north,
        longitudeDeg: start.longitudeDeg + east / Math.cos(toRadians(start.latitudeDeg)),
        altitudeM: 40,
        speedKmh,
        directionDeg,
        isIgnitionOn: true,
        distanceM: distance,
      };
    },
  };
}

/** Creates a track that stands still with the ignition off. */
export function createParkedTrack(coordinates: Coordinates): Track {
  const point: TrackPoint = {
    latitudeDeg: coordinates.latitudeDeg,
    longitudeDeg: coordinates.longitudeDeg,
    altitudeM: 40,
    speedKmh: 0,
    directionDeg: 0,
    isIgnitionOn: false,
    distanceM: 0,
  };
  return { name: 'parked', at: () => point };
}
