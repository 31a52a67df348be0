import { hourMs } from '@fleet/service-kit';
import type { VehicleThresholds } from '../../platform/thresholds.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { type AcceptedFix, filterFix, isFix } from './outlier-filter.ts';

/** State of the odometer of a vehicle's terminal between reports; JSON. */
export interface OdometerState {
  /** Device time of the newest counted report. */
  readonly atMs: number;
  /** The last accepted fix. */
  readonly believed: AcceptedFix | null;
  /** Mileage of the terminal itself (item 0x01) in the newest report that had it. */
  readonly mileageKm: number | null;
  /** Device time of that report; absent in states stored before this field existed. */
  readonly mileageAtMs?: number;
  /** Distance that the vehicle has travelled with this terminal. */
  readonly travelledKm: number;
  /** Distance between fixes since that mileage changed, and the part of it that was counted already. */
  readonly wayKm: number;
  readonly countedKm: number;
}

/** The fields of a report that the odometer reads. */
export type OdometerReport = Pick<
  LastLocation,
  'latitude' | 'longitude' | 'gpsValid' | 'speed' | 'timestamp' | 'odometerKm'
>;

const maxSpeedKmh = 250;
/** The terminal's unit is 0.1 km. */
const unitKm = 0.1;
/** A mileage that does not change over this distance is not counted by the terminal. */
const deadAfterKm = 2;
/**
 * The position of a standing receiver drifts. A shorter distance does not count if the speed says that the vehicle
 * stands.
 */
const driftM = 30;

/** Result of one report: the new state, and the distance travelled so far. */
export interface OdometerStep {
  readonly state: OdometerState;
  readonly travelledKm: number;
}

/**
 * Advances the odometer by one report. The terminal's own mileage counts while it is plausible. After a reset, and if
 * the terminal has no mileage or a constant one, the distance between valid fixes counts. Reports that are not newer
 * change nothing.
 */
export function advanceOdometer(
  before: OdometerState | undefined,
  report: OdometerReport,
  { movingFromKmh }: Pick<VehicleThresholds, 'movingFromKmh'>,
): OdometerStep {
  if (before !== undefined && report.timestamp <= before.atMs) return stepTo(before);
  const { believed, wayKm } = measureDistance(before?.believed ?? null, report, movingFromKmh);
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
  // A later mileage includes this distance.
  if (report.odometerKm === null) {
    const countedKm = before.countedKm + stepKm;
    return { mileageKm, mileageAtMs: beforeAtMs, wayKm, countedKm, addedKm: stepKm };
  }
  const deltaKm = report.odometerKm - mileageKm;
  // The mileage was reset or replaced: continue from the new value.
  if (!isPlausible(deltaKm, mileageAtMs - beforeAtMs))
    return { ...fromHere, addedKm: Math.max(0, wayKm - before.countedKm) };
  if (deltaKm > 0) return { ...fromHere, addedKm: Math.max(0, deltaKm - before.countedKm) };
  const addedKm = wayKm > deadAfterKm ? wayKm - before.countedKm : 0;
  return { mileageKm, mileageAtMs, wayKm, countedKm: before.countedKm + addedKm, addedKm };
}

const isPlausible = (deltaKm: number, elapsedMs: number): boolean =>
  deltaKm >= 0 && deltaKm <= (maxSpeedKmh * elapsedMs) / hourMs + 2 * unitKm;

function measureDistance(
  believed: AcceptedFix | null,
  report: OdometerReport,
  movingFromKmh: number,
): { believed: AcceptedFix | null; wayKm: number } {
  if (!isFix(report)) return { believed, wayKm: 0 };
  const step = filterFix(believed, report);
  const isDrift = step.kind === 'moved' && report.speed < movingFromKmh && step.distanceM < driftM;
  // A drifting receiver is compared with the position where the vehicle stopped, so that drift does not add up.
  if (isDrift && believed !== null) return { believed: { ...believed, atMs: report.timestamp, jumps: 0 }, wayKm: 0 };
  return { believed: step.accepted, wayKm: step.distanceM / 1_000 };
}

/**
 * The stored form of a vehicle's `odometer_km`: the value that the user set, and the distance of the terminal at that
 * time.
 */
interface OdometerOffset {
  readonly odometerKm: number;
  /** Absent in records stored before distances were counted. */
  readonly odometerTravelledKm?: number;
}

/** Returns the vehicle's odometer for the distance of its terminal, to a tenth of a kilometre. */
export const odometerOf = ({ odometerKm, odometerTravelledKm = 0 }: OdometerOffset, travelledKm: number): number =>
  Math.round((odometerKm + Math.max(0, travelledKm - odometerTravelledKm)) * 10) / 10;
