import { withStateChange } from '../domains/last-positions/rules.ts';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { VehicleThresholds } from '../platform/thresholds.ts';
import type { Rule, RuleContext } from '../rules/rule.ts';
import type { DecodedHeartbeat } from './decode-report.ts';
import type { Evaluation, StateOrigin } from './evaluate-report.ts';
import { newerValues, previousReadings, withHeartbeat, withPosition } from './latest-readings.ts';
import type { Report } from './report.ts';
import { backfilledAfterMs, runRules } from './run-rules.ts';

/** Values of the newest heartbeat of a partner's device. */
export type Heartbeat = Pick<
  DecodedHeartbeat,
  'timestamp' | 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'
>;

/**
 * Evaluates a heartbeat with the rules that use its values. It is no position: the location stays, and history and
 * odometer are unchanged. A heartbeat older than the newest one has no effect.
 */
export function evaluateHeartbeat(
  before: VehicleState | null,
  heartbeat: DecodedHeartbeat,
  context: RuleContext,
  origin: StateOrigin,
  rules: readonly Rule[],
): Evaluation {
  const nothing = { position: null, hash: '', findings: [], updates: [], attachmentRequests: [], mustPersist: false };
  const known = before?.heartbeat;
  if (before !== null && known !== undefined && heartbeat.timestamp <= known.timestamp)
    return { ...nothing, state: { ...before, ...origin } };
  const last = before?.location ?? withoutPosition(heartbeat);
  const { timestamp, ignition, batteryPercent, externalVoltage, signal, receivedAtMs } = heartbeat;
  const newestHeartbeat: Heartbeat = { timestamp, ignition, batteryPercent, externalVoltage, signal };
  const latestReadings = withHeartbeat(previousReadings(before), newestHeartbeat);
  const lastReceivedAtMs = Math.max(receivedAtMs, last.heardAtMs ?? 0);
  const received = { ...last, ...latestReadings.values, heardAtMs: lastReceivedAtMs };
  const location = withStateChange(before?.location, received, lastReceivedAtMs, context.settings);
  const report = toReport(heartbeat, location);
  const passed = runRules(before?.rules, rules, context, (rule) => (rule.takesHeartbeats === true ? report : null));
  const state: VehicleState = {
    recent: [],
    travelledKm: 0,
    odometer: undefined,
    ...before,
    ...origin,
    vehicleId: context.vehicle.id,
    location,
    heartbeat: newestHeartbeat,
    latestReadings,
    rules: passed.states,
  };
  const { findings, updates, attachmentRequests } = passed;
  return {
    ...nothing,
    state,
    findings,
    updates,
    attachmentRequests,
    mustPersist: before === null || passed.mustPersist,
  };
}

/** Returns a position with the values of a newer heartbeat. */
export const withNewerReadings = (before: VehicleState | null, position: LastLocation): LastLocation =>
  before?.heartbeat === undefined ? position : { ...position, ...newerValues(position, previousReadings(before)) };

/**
 * Returns the state after a newer position. Fields missing from the position keep their last value if heartbeats report
 * them, with the timestamp of their source: a heartbeat may be older than the position and still newer than the value.
 */
export function nextState(
  before: VehicleState | null,
  position: LastLocation,
  thresholds: VehicleThresholds,
): Pick<VehicleState, 'location' | 'heartbeat' | 'latestReadings'> {
  const withState = (location: LastLocation): LastLocation =>
    withStateChange(before?.location, location, position.serverTimestamp, thresholds);
  if (before?.heartbeat === undefined) return { location: withState(position) };
  const { heartbeat } = before;
  const latestReadings = withPosition(previousReadings(before), position);
  if (position.source !== 'partner') return { location: withState(position), heartbeat, latestReadings };
  const location = { ...position, ...latestReadings.values, heardAtMs: before.location.heardAtMs };
  return { location: withState(location), heartbeat, latestReadings };
}

/** Returns the state of a device that sent heartbeats before its first position. */
const withoutPosition = ({ displayImei, timestamp, receivedAtMs }: DecodedHeartbeat): LastLocation => ({
  imei: displayImei,
  latitude: 0,
  longitude: 0,
  altitude: null,
  speed: 0,
  course: 0,
  gpsValid: false,
  satellites: null,
  signal: null,
  ignition: null,
  odometerKm: null,
  fuelL: null,
  batteryPercent: null,
  externalVoltage: null,
  alarms: [],
  source: 'partner',
  backfilled: false,
  slowSinceMs: receivedAtMs,
  timestamp,
  serverTimestamp: receivedAtMs,
});

/** Returns the report that rules evaluate. */
const toReport = ({ imei, timestamp, receivedAtMs }: DecodedHeartbeat, location: LastLocation): Report => ({
  imei,
  edition: 'partner',
  serialNo: 0,
  alarmWord: 0,
  statusWord: 0,
  extras: [],
  hash: '',
  isLate: false,
  position: {
    ...location,
    backfilled: receivedAtMs - timestamp > backfilledAfterMs,
    timestamp,
    serverTimestamp: receivedAtMs,
  },
});
