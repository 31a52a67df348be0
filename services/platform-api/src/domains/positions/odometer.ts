import type { LastLocation } from '../realtime/schema.ts';
import { type Believed, follow, isFix } from './fixes.ts';

/** What the odometer keeps of a vehicle's terminal between reports; JSON. */
export interface OdometerState {
  /** Device time of the newest report that counted. */
  readonly atMs: number;
  /** The last fix that was believed. */
  readonly believed: Believed | null;
  /** Mileage of the terminal itself (item 0x01) at the newest report that had it. */
  readonly mileageKm: number | null;
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

/**
 * Advances by one report: how far the vehicle has come since the last one, and what to keep. The terminal's own mileage counts while it is plausible; after a
 * reset, and where a terminal has none (or one that stands still), the way between valid fixes counts. Reports that are not newer change nothing.
 */
export function advanceOdometer(
  state: OdometerState | undefined,
  report: OdometerReport,
): { readonly state: OdometerState; readonly addedKm: number } {
  if (state !== undefined && report.timestamp <= state.atMs) return { state, addedKm: 0 };
  const { believed, wayKm: stepKm } = wayOf(state?.believed ?? null, report);
  const now = { atMs: report.timestamp, believed };
  const wayKm = (state?.wayKm ?? 0) + stepKm;
  const countedKm = state?.countedKm ?? 0;
  const before = state?.mileageKm ?? null;
  if (report.odometerKm === null || before === null || state === undefined)
    return { state: { ...now, mileageKm: report.odometerKm ?? before, wayKm: 0, countedKm: 0 }, addedKm: stepKm };
  const deltaKm = report.odometerKm - before;
  if (!isPlausible(deltaKm, report.timestamp - state.atMs)) {
    // Set back, or another count: what it says now is where it goes on from.
    const addedKm = Math.max(0, wayKm - countedKm);
    return { state: { ...now, mileageKm: report.odometerKm, wayKm: 0, countedKm: 0 }, addedKm };
  }
  if (deltaKm > 0) {
    const addedKm = Math.max(0, deltaKm - countedKm);
    return { state: { ...now, mileageKm: report.odometerKm, wayKm: 0, countedKm: 0 }, addedKm };
  }
  const addedKm = wayKm > deadAfterKm ? wayKm - countedKm : 0;
  return { state: { ...now, mileageKm: before, wayKm, countedKm: countedKm + addedKm }, addedKm };
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
