import { hourMs } from '@fleet/service-kit';
import { distanceM } from '../../geometry/positions.ts';
import { type AcceptedFix, filterFix, isFix, toPosition } from './outlier-filter.ts';
import type { Point } from './schema.ts';
import { simplify } from './simplify.ts';

/** A drive from the start of movement to standstill. */
export interface Trip {
  readonly startedAtMs: number;
  /** Null while the trip is in progress. */
  readonly endedAtMs: number | null;
  readonly start: Point;
  readonly end: Point | null;
  /** Time of the last report of the trip. */
  readonly lastAtMs: number;
  readonly distanceM: number;
  readonly idleMs: number;
  readonly maxSpeedKmh: number;
  readonly driverId: number | null;
  readonly line: readonly Point[];
}

const standstillMs = 300_000;
/** A gap between reports of this length ends a trip, wherever the vehicle is afterwards. */
const longestGapMs = hourMs;
/** A trip begins at the report before the first that moves, unless that is older than this. */
const startWithinMs = 120_000;
const shortestM = 300;
const shortestMs = 60_000;
/** Minimum distance between points of the line. */
const lineStepM = 10;
const lineToleranceM = 5;

interface Open {
  readonly start: Point;
  last: Point;
  /** First point of the current standstill. */
  standing: Point | null;
  idleMs: number;
  distanceM: number;
  maxSpeedKmh: number;
  driverId: number | null;
  readonly line: Point[];
}

/**
 * Finds the trips in a vehicle's reports, which must be in the order of device time. A trip begins with movement. It
 * ends with 5 minutes of standstill, or with the ignition (if the vehicle has shown that it has an ignition signal). It
 * also ends with a gap during which the vehicle cannot have moved on.
 */
export class TripFinder {
  readonly #movingFromKmh: number;
  readonly #done: Trip[] = [];
  #believed: AcceptedFix | null = null;
  #last: Point | null = null;
  #open: Open | null = null;
  #hasIgnition = false;

  constructor(movingFromKmh: number) {
    this.#movingFromKmh = movingFromKmh;
  }

  /** Returns true while a trip is in progress. */
  get isDriving(): boolean {
    return this.#open !== null;
  }

  /** Returns the trips that have ended since the last call. */
  take(): Trip[] {
    return this.#done.splice(0);
  }

  add(point: Point): void {
    const { ignition } = point.position;
    if (ignition === true) this.#hasIgnition = true;
    const isOff = ignition === false && this.#hasIgnition;
    if (isFix(point.position)) this.#addFix(point, isOff);
    if (isOff) this.#endByIgnition(point.position.timestamp);
  }

  /** Ends the search. A trip in progress is over if its last report is older than a standstill. */
  end(nowMs: number): Trip[] {
    const open = this.#open;
    if (open !== null && nowMs - open.last.position.timestamp > standstillMs) this.#finish(open.standing ?? open.last);
    else if (open !== null) this.#keep(tripOf(open, null));
    this.#open = null;
    return this.take();
  }

  #addFix(point: Point, isOff: boolean): void {
    this.#closeAtGap(point);
    const step = filterFix(this.#believed, point.position);
    this.#believed = step.accepted;
    if (step.kind === 'jump') return;
    const before = this.#last;
    this.#last = point;
    const isMoving = !isOff && this.#isInMotion(before, point, step.distanceM);
    if (this.#open === null) {
      if (isMoving && step.kind !== 'relocated') this.#begin(before, point, step.distanceM);
      return;
    }
    advance(this.#open, point, isMoving, step.distanceM);
    const { standing } = this.#open;
    if (standing !== null && point.position.timestamp - standing.position.timestamp >= standstillMs)
      this.#finish(standing);
  }

  /** Ends the trip after a gap longer than a standstill if the vehicle has hardly moved. */
  #closeAtGap(point: Point): void {
    const open = this.#open;
    if (open === null) return;
    const gapMs = point.position.timestamp - open.last.position.timestamp;
    if (gapMs <= standstillMs) return;
    const wayM = distanceM(toPosition(open.last.position), toPosition(point.position));
    const isDrivingOn = gapMs <= longestGapMs && (wayM / gapMs) * 3_600 >= this.#movingFromKmh;
    if (!isDrivingOn) this.#finish(open.standing ?? open.last);
  }

  #begin(before: Point | null, point: Point, wayM: number): void {
    const isNear = before !== null && point.position.timestamp - before.position.timestamp <= startWithinMs;
    const start = isNear ? before : point;
    this.#open = {
      start,
      last: point,
      standing: null,
      idleMs: 0,
      distanceM: isNear ? wayM : 0,
      maxSpeedKmh: point.position.speed,
      driverId: start.driverId ?? point.driverId,
      line: isNear ? [start, point] : [point],
    };
  }

  // The standstill before the ignition was switched off is a part of the trip.
  #endByIgnition(offAtMs: number): void {
    const open = this.#open;
    if (open === null) return;
    const lastMs = open.last.position.timestamp;
    const atMs = Math.min(offAtMs, lastMs + standstillMs);
    const stoodMs = open.standing === null ? 0 : atMs - open.standing.position.timestamp;
    this.#open = null;
    this.#keep(tripOf({ ...open, idleMs: open.idleMs + stoodMs }, atMs));
  }

  /** Decides by speed or, if a terminal sends none, by distance. */
  #isInMotion(before: Point | null, { position }: Point, wayM: number): boolean {
    if (position.speed >= this.#movingFromKmh) return true;
    if (before === null || position.speed > 0 || wayM < 50) return false;
    return (wayM / (position.timestamp - before.position.timestamp)) * 3_600 >= this.#movingFromKmh;
  }

  #finish(last: Point): void {
    const open = this.#open;
    this.#open = null;
    if (open !== null) this.#keep(tripOf({ ...open, last }, last.position.timestamp));
  }

  #keep(trip: Trip): void {
    if (trip.distanceM >= shortestM && trip.lastAtMs - trip.startedAtMs >= shortestMs) this.#done.push(trip);
  }
}

function advance(open: Open, point: Point, isMoving: boolean, wayM: number): void {
  const wasStanding = open.standing !== null;
  // If the vehicle stands at both ends, the distance is drift of the receiver.
  if (isMoving || !wasStanding) open.distanceM += wayM;
  if (isMoving && open.standing !== null) {
    open.idleMs += point.position.timestamp - open.standing.position.timestamp;
    open.standing = null;
  } else if (!isMoving) open.standing ??= point;
  if (isMoving) open.maxSpeedKmh = Math.max(open.maxSpeedKmh, point.position.speed);
  open.driverId ??= point.driverId;
  open.last = point;
  const tip = open.line.at(-1);
  if (tip === undefined || distanceM(toPosition(tip.position), toPosition(point.position)) >= lineStepM)
    open.line.push(point);
}

function tripOf(open: Open, endedAtMs: number | null): Trip {
  const { start, last } = open;
  const lastAtMs = endedAtMs ?? last.position.timestamp;
  const line = open.line.filter(({ position }) => position.timestamp <= last.position.timestamp);
  if (line.at(-1) !== last) line.push(last);
  return {
    startedAtMs: start.position.timestamp,
    endedAtMs,
    start,
    end: endedAtMs === null ? null : last,
    lastAtMs,
    distanceM: open.distanceM,
    idleMs: open.idleMs,
    maxSpeedKmh: open.maxSpeedKmh,
    driverId: open.driverId,
    line: simplify(line, lineToleranceM, ({ position }) => toPosition(position)),
  };
}
