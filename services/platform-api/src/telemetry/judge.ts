import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { OdometerState, OdometerStep } from '../domains/positions/odometer.ts';
import { isLateFor, recentReports, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { movingFromKmh } from '../platform/constants.ts';
import { currentAlarms } from '../rules/index.ts';
import type { Amended, Attached, Raised, Rule, RuleContext } from '../rules/rule.ts';
import { type DecodedReport, instantOf } from './decode.ts';
import { stateAfter, updatedPosition } from './heartbeat.ts';
import { backfilledAfterMs, passRules } from './pass-rules.ts';
import type { Report } from './report.ts';

/** Evaluation of a report. */
export interface Judged {
  readonly state: VehicleState;
  /** Point for the vehicle's history; null for a repeated report, and for a heartbeat. */
  readonly position: LastLocation | null;
  readonly hash: string;
  readonly raised: readonly Raised[];
  readonly amended: readonly Amended[];
  readonly attached: readonly Attached[];
  readonly turned: boolean;
}

/** Mileage count. */
export type Odometer = (before: OdometerState | undefined, position: LastLocation) => OdometerStep;

/** Dependencies of `judge` that are equal for all reports. */
export interface Judges {
  readonly rules: readonly Rule[];
  readonly odometer: Odometer;
  /** Whether a late report is already in the vehicle's history. */
  readonly isKnown: (position: LastLocation, hash: string) => boolean;
}

/** Position of a message: the stream by its creation time, and the sequence number. */
export interface Place {
  readonly stream: string;
  readonly seq: number;
  /** Input of the vehicle. */
  readonly terminalSinceMs?: number | undefined;
}

/**
 * Evaluates one report with the rules. Pure: equal state and report have equal results, so that a message that is read
 * again after a crash raises the same notifications.
 */
export function judge(
  before: VehicleState | null,
  decoded: DecodedReport,
  context: RuleContext,
  place: Place,
  judges: Judges,
): Judged {
  const timestamp = instantOf(decoded, context.vehicle.cameraUtcOffset);
  const isLate = isLateFor(before, timestamp);
  const report = reportOf(before, decoded, timestamp, isLate);
  const key = `${timestamp}:${decoded.hash}`;
  const isRepeated =
    before !== null && (before.recent.includes(key) || (isLate && judges.isKnown(report.position, decoded.hash)));
  if (isRepeated) {
    const state = { ...before, ...place };
    return { state, position: null, hash: decoded.hash, raised: [], amended: [], attached: [], turned: false };
  }
  const judged = passed(before, report, key, context, place, judges);
  // The vehicle's position then differs from its present one: the history has the previous position.
  return isLate ? { ...judged, position: { ...report.position, ...placeIn(decoded.position) } } : judged;
}

function passed(
  before: VehicleState | null,
  report: Report,
  key: string,
  context: RuleContext,
  place: Place,
  { rules, odometer }: Judges,
): Judged {
  const counted = report.isLate ? null : odometer(before?.odometer, report.position);
  // A position that was sent before a heartbeat does not revert its values.
  const updated = withPosition(report, updatedPosition(before, report.position));
  const { states, raised, amended, attached, turned } = passRules(before?.rules, rules, context, (rule) =>
    report.isLate && !rule.takesLate ? null : rule.takesHeartbeats === true ? updated : report,
  );
  const { location, heartbeat, told } = before !== null && report.isLate ? before : stateAfter(before, report.position);
  const state: VehicleState = {
    ...place,
    vehicleId: context.vehicle.id,
    location,
    heartbeat,
    told,
    recent: [...(before?.recent ?? []).slice(1 - recentReports), key],
    travelledKm: counted?.travelledKm ?? before?.travelledKm ?? 0,
    odometer: counted === null ? before?.odometer : counted.state,
    rules: states,
  };
  const { position, hash } = report;
  return { state, position, hash, raised, amended, attached, turned: turned || before === null };
}

const withPosition = (report: Report, position: LastLocation): Report =>
  position === report.position ? report : { ...report, position };

function reportOf(before: VehicleState | null, decoded: DecodedReport, timestamp: number, isLate: boolean): Report {
  const { imei, edition, serialNo, alarmWord, statusWord, extras, hash, receivedAtMs, isStored } = decoded;
  const isOld = receivedAtMs - timestamp > backfilledAfterMs;
  const position: LastLocation = {
    ...decoded.position,
    ...lastPlace(before, decoded.position),
    alarms: [],
    backfilled: isLate || (isStored && isOld),
    slowSinceMs: slowSince(before?.location, decoded, isLate),
    timestamp,
    serverTimestamp: receivedAtMs,
  };
  const report = { imei, edition, serialNo, alarmWord, statusWord, extras, hash, isLate, position };
  const alarms = currentAlarms(report);
  return alarms.length === 0 ? report : { ...report, position: { ...position, alarms } };
}

type Located = Pick<LastLocation, 'latitude' | 'longitude' | 'gpsValid'>;

const placeIn = ({ latitude, longitude }: Located) => ({ latitude, longitude });

/** Without a fix terminals send 0, 0: the vehicle keeps its last position, marked as invalid. */
function lastPlace(before: VehicleState | null, position: Located) {
  const isNowhere = !position.gpsValid && position.latitude === 0 && position.longitude === 0;
  return placeIn(isNowhere && before !== null ? before.location : position);
}

function slowSince(
  before: LastLocation | undefined,
  { position, receivedAtMs }: DecodedReport,
  isLate: boolean,
): number | null {
  if (position.speed >= movingFromKmh) return null;
  return isLate ? receivedAtMs : (before?.slowSinceMs ?? receivedAtMs);
}
