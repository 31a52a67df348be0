import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { OdometerState, OdometerStep } from '../domains/positions/odometer.ts';
import { isOutOfOrder, recentReports, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { currentAlarms } from '../rules/index.ts';
import type { AttachmentRequest, Finding, FindingUpdate, Rule, RuleContext } from '../rules/rule.ts';
import type { RuleSettings } from '../rules/rule-settings.ts';
import { type DecodedReport, deviceTimestamp } from './decode-report.ts';
import { nextState, withNewerReadings } from './evaluate-heartbeat.ts';
import type { Report } from './report.ts';
import { backfilledAfterMs, runRules } from './run-rules.ts';

/** Evaluation of a report. */
export interface Evaluation {
  readonly state: VehicleState;
  /** Point for the vehicle's history; null for a repeated report, and for a heartbeat. */
  readonly position: LastLocation | null;
  readonly hash: string;
  readonly findings: readonly Finding[];
  readonly updates: readonly FindingUpdate[];
  readonly attachmentRequests: readonly AttachmentRequest[];
  readonly mustPersist: boolean;
}

/** Mileage count. */
type Odometer = (before: OdometerState | undefined, position: LastLocation) => OdometerStep;

/** Input that is equal for all reports. */
export interface Evaluators {
  readonly rules: readonly Rule[];
  readonly odometer: Odometer;
  /** Whether a late report is already in the vehicle's history. */
  readonly isKnown: (position: LastLocation, hash: string) => boolean;
}

/** Origin of a state: the message (stream by its creation time, sequence number) and the assignment of the terminal. */
export interface StateOrigin {
  readonly stream: string;
  readonly seq: number;
  /** Start of the assignment, from the vehicle. */
  readonly terminalSinceMs?: number | undefined;
}

/**
 * Evaluates one report with the rules. Pure: equal state and report have equal results, so that a message that is read
 * again after a crash raises the same notifications.
 */
export function evaluateReport(
  before: VehicleState | null,
  decoded: DecodedReport,
  context: RuleContext,
  origin: StateOrigin,
  evaluators: Evaluators,
): Evaluation {
  const timestamp = deviceTimestamp(decoded, context.vehicle.cameraUtcOffset);
  const isLate = isOutOfOrder(before, timestamp);
  const report = reportOf(before, decoded, context.settings, timestamp, isLate);
  const key = `${timestamp}:${decoded.hash}`;
  const isRepeated =
    before !== null && (before.recent.includes(key) || (isLate && evaluators.isKnown(report.position, decoded.hash)));
  if (isRepeated) {
    const state = { ...before, ...origin };
    return {
      state,
      position: null,
      hash: decoded.hash,
      findings: [],
      updates: [],
      attachmentRequests: [],
      mustPersist: false,
    };
  }
  const evaluation = applyReport(before, report, key, context, origin, evaluators);
  // The vehicle's position then differs from its present one: the history has the previous position.
  return isLate ? { ...evaluation, position: { ...report.position, ...coordinatesOf(decoded.position) } } : evaluation;
}

function applyReport(
  before: VehicleState | null,
  report: Report,
  key: string,
  context: RuleContext,
  origin: StateOrigin,
  { rules, odometer }: Evaluators,
): Evaluation {
  const counted = report.isLate ? null : odometer(before?.odometer, report.position);
  // A position that was sent before a heartbeat does not revert its values.
  const updated = withPosition(report, withNewerReadings(before, report.position));
  const { states, findings, updates, attachmentRequests, mustPersist } = runRules(
    before?.rules,
    rules,
    context,
    (rule) => (report.isLate && !rule.takesLate ? null : rule.takesHeartbeats === true ? updated : report),
  );
  const { location, heartbeat, latestReadings } =
    before !== null && report.isLate ? before : nextState(before, report.position, context.settings);
  const state: VehicleState = {
    ...origin,
    vehicleId: context.vehicle.id,
    location,
    heartbeat,
    latestReadings,
    recent: [...(before?.recent ?? []).slice(1 - recentReports), key],
    travelledKm: counted?.travelledKm ?? before?.travelledKm ?? 0,
    odometer: counted === null ? before?.odometer : counted.state,
    rules: states,
  };
  const { position, hash } = report;
  return { state, position, hash, findings, updates, attachmentRequests, mustPersist: mustPersist || before === null };
}

const withPosition = (report: Report, position: LastLocation): Report =>
  position === report.position ? report : { ...report, position };

function reportOf(
  before: VehicleState | null,
  decoded: DecodedReport,
  settings: RuleSettings,
  timestamp: number,
  isLate: boolean,
): Report {
  const { imei, edition, serialNo, alarmWord, statusWord, extras, hash, receivedAtMs, isStored } = decoded;
  const isOld = receivedAtMs - timestamp > backfilledAfterMs;
  const position: LastLocation = {
    ...decoded.position,
    ...positionWithFallback(before, decoded.position),
    alarms: [],
    backfilled: isLate || (isStored && isOld),
    slowSinceMs: slowSince(before?.location, decoded, settings, isLate),
    timestamp,
    serverTimestamp: receivedAtMs,
  };
  const report = { imei, edition, serialNo, alarmWord, statusWord, extras, hash, isLate, position };
  const alarms = currentAlarms(report);
  return alarms.length === 0 ? report : { ...report, position: { ...position, alarms } };
}

type Located = Pick<LastLocation, 'latitude' | 'longitude' | 'gpsValid'>;

const coordinatesOf = ({ latitude, longitude }: Located) => ({ latitude, longitude });

// Without a fix terminals send 0, 0: the vehicle keeps its last position, marked as invalid.
function positionWithFallback(before: VehicleState | null, position: Located) {
  const isNowhere = !position.gpsValid && position.latitude === 0 && position.longitude === 0;
  return coordinatesOf(isNowhere && before !== null ? before.location : position);
}

function slowSince(
  before: LastLocation | undefined,
  { position, receivedAtMs }: DecodedReport,
  { movingFromKmh }: RuleSettings,
  isLate: boolean,
): number | null {
  if (position.speed >= movingFromKmh) return null;
  return isLate ? receivedAtMs : (before?.slowSinceMs ?? receivedAtMs);
}
