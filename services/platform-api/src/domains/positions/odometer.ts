import type { LastLocation } from '../last-positions/schema.ts';
import { type Believed, follow, isFix } from './fixes.ts';

/** What the odometer keeps of a vehicle's terminal between reports; JSON. */
export interface OdometerState {
  /** Device time of the newest report that counted. */
  readonly atMs: number;
  /** The last fix that was believed. */
  readonly believed: Believed | null;
  /** Mileage of the terminal itself (item 0x01) at the newest report that had it. */
  readonly mileageKm: number | null;
  /** Device time of that report; states of before this was kept lack it. */
  readonly mileageAtMs?: number;
  /** How far the vehicle has come with this terminal. */
  readonly travelledKm: number;
  /** Way between fixes since that mileage has changed, and how much of it was counted already. */
  readonly wayKm: number;
  readonly countedKm: number;
}

/** What it reads of a report. */
export type OdometerReport = Pick<
  LastLocation,
  'latitude' | 'longitude' | 'gpsValid' | 'speed' | 'timestamp' | 'odometerKm'
>;

const maxSpeedKmh = 250;
/** The terminal's unit is 0.1 km. */
const unitKm = 0.1;
/** A mileage that stands still for so long a way is not counted by the terminal. */
const deadAfterKm = 2;
/** A standing receiver wanders: less than this is no way, where the speed says that the vehicle stands. */
const driftM = 30;
const movingFromKmh = 5;

/** A step of the count: what to keep, and how far the vehicle has come by now. */
export interface OdometerStep {
  readonly state: OdometerState;
  readonly travelledKm: number;
}

/**
 * Advances by one report. The terminal's own mileage counts while it is plausible; after a reset, and where a terminal has none (or one that stands still), the way
 * between valid fixes counts. Reports that are not newer change nothing.
 */
export function advanceOdometer(before: OdometerState | undefined, report: OdometerReport): OdometerStep {
  if (before !== undefined && report.timestamp <= before.atMs) return stepTo(before);
  const { believed, wayKm } = wayOf(before?.believed ?? null, report);
  const { addedKm, ...counts } = before === undefined ? firstCount(report) : count(before, report, wayKm);
  const travelledKm = (before?.travelledKm ?? 0) + addedKm;
  return stepTo({ atMs: report.timestamp, believed, travelledKm, ...counts });
}

const stepTo = (state: OdometerState): OdometerStep => ({ state, travelledKm: state.travelledKm });

type Count = Pick<Required<OdometerState>, 'mileageKm' | 'mileageAtMs' | 'wayKm' | 'countedKm'> & {
  readonly addedKm: number;
};

const firstCount = ({ odometerKm, timestamp }: OdometerReport): Count => ({
  mileageKm: odometerKm,
  mileageAtMs: timestamp,
  wayKm: 0,
  countedKm: 0,
  addedKm: 0,
});

function count(before: OdometerState, report: OdometerReport, stepKm: number): Count {
  const { timestamp: mileageAtMs } = report;
  const fromHere = { mileageKm: report.odometerKm ?? before.mileageKm, mileageAtMs, wayKm: 0, countedKm: 0 };
  const { mileageKm } = before;
  if (mileageKm === null) return { ...fromHere, addedKm: stepKm };
  const beforeAtMs = before.mileageAtMs ?? before.atMs;
  const wayKm = before.wayKm + stepKm;
  // A mileage that comes later has this way in it.
  if (report.odometerKm === null) {
    const countedKm = before.countedKm + stepKm;
    return { mileageKm, mileageAtMs: beforeAtMs, wayKm, countedKm, addedKm: stepKm };
  }
  const deltaKm = report.odometerKm - mileageKm;
  // Set back, or another count: what it says now is where it goes on from.
  if (!isPlausible(deltaKm, mileageAtMs - beforeAtMs))
    return { ...fromHere, addedKm: Math.max(0, wayKm - before.countedKm) };
  if (deltaKm > 0) return { ...fromHere, addedKm: Math.max(0, deltaKm - before.countedKm) };
  const addedKm = wayKm > deadAfterKm ? wayKm - before.countedKm : 0;
  return { mileageKm, mileageAtMs, wayKm, countedKm: before.countedKm + addedKm, addedKm };
}

const isPlausible = (deltaKm: number, elapsedMs: number): boolean =>
  deltaKm >= 0 && deltaKm <= (maxSpeedKmh * elapsedMs) / 3_600_000 + 2 * unitKm;

function wayOf(believed: Believed | null, report: OdometerReport): { believed: Believed | null; wayKm: number } {
  if (!isFix(report)) return { believed, wayKm: 0 };
  const step = follow(believed, report);
  const isDrift = step.kind === 'moved' && report.speed < movingFromKmh && step.distanceM < driftM;
  // A wandering receiver is measured against where the vehicle has stopped, so that no way adds up.
  if (isDrift && believed !== null) return { believed: { ...believed, atMs: report.timestamp, jumps: 0 }, wayKm: 0 };
  return { believed: step.believed, wayKm: step.distanceM / 1_000 };
}

/** What a vehicle's `odometer_km` is kept as: what the user has set, and how far its terminal had come then. */
export interface OdometerOffset {
  readonly odometerKm: number;
  /** Absent in records of before there was a count. */
  readonly odometerTravelledKm?: number;
}

/** The vehicle's own count, with how far its terminal has come by now; to a tenth of a kilometre. */
export const odometerOf = ({ odometerKm, odometerTravelledKm = 0 }: OdometerOffset, travelledKm: number): number =>
  Math.round((odometerKm + Math.max(0, travelledKm - odometerTravelledKm)) * 10) / 10;
