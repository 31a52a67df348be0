import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Rule, RuleContext } from '../rules/rule.ts';
import type { DecodedHeartbeat } from './decode.ts';
import type { Judged, Place } from './judge.ts';
import { newest, previousReadings, withHeartbeat, withPosition } from './latest-readings.ts';
import { backfilledAfterMs, passRules } from './pass-rules.ts';
import type { Report } from './report.ts';

/** Values of the newest heartbeat of a partner's device. */
export type Heartbeat = Pick<
  DecodedHeartbeat,
  'timestamp' | 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'
>;

/**
 * Evaluates a heartbeat with the rules that use its values. It is no position: the location stays, and history and
 * odometer are unchanged. A heartbeat older than the newest one has no effect.
 */
export function judgeHeartbeat(
  before: VehicleState | null,
  heartbeat: DecodedHeartbeat,
  context: RuleContext,
  place: Place,
  rules: readonly Rule[],
): Judged {
  const nothing = { position: null, hash: '', raised: [], amended: [], attached: [], turned: false };
  const known = before?.heartbeat;
  if (before !== null && known !== undefined && heartbeat.timestamp <= known.timestamp)
    return { ...nothing, state: { ...before, ...place } };
  const last = before?.location ?? nowhere(heartbeat);
  const { timestamp, ignition, batteryPercent, externalVoltage, signal, receivedAtMs } = heartbeat;
  const newestHeartbeat: Heartbeat = { timestamp, ignition, batteryPercent, externalVoltage, signal };
  const told = withHeartbeat(previousReadings(before), newestHeartbeat);
  const heardAtMs = Math.max(receivedAtMs, last.heardAtMs ?? 0);
  const location = { ...last, ...told.values, heardAtMs };
  const report = reportOf(heartbeat, location);
  const passed = passRules(before?.rules, rules, context, (rule) => (rule.takesHeartbeats === true ? report : null));
  const state: VehicleState = {
    recent: [],
    travelledKm: 0,
    odometer: undefined,
    ...before,
    ...place,
    vehicleId: context.vehicle.id,
    location,
    heartbeat: newestHeartbeat,
    told,
    rules: passed.states,
  };
  const { raised, amended, attached } = passed;
  return { ...nothing, state, raised, amended, attached, turned: before === null || passed.turned };
}

/** Returns a position with the values of a newer heartbeat. */
export const updatedPosition = (before: VehicleState | null, position: LastLocation): LastLocation =>
  before?.heartbeat === undefined ? position : { ...position, ...newest(position, previousReadings(before)) };

/**
 * Returns the state after a newer position. Fields missing from the position keep their last value if heartbeats report
 * them, with the timestamp of their source: a heartbeat may be older than the position and still newer than the value.
 */
export function stateAfter(
  before: VehicleState | null,
  position: LastLocation,
): Pick<VehicleState, 'location' | 'heartbeat' | 'told'> {
  if (before?.heartbeat === undefined) return { location: position };
  const { heartbeat } = before;
  const told = withPosition(previousReadings(before), position);
  if (position.source !== 'partner') return { location: position, heartbeat, told };
  const { heardAtMs } = before.location;
  return { location: { ...position, ...told.values, heardAtMs }, heartbeat, told };
}

/** State of a device that sent heartbeats before its first position. */
const nowhere = ({ shownImei, timestamp, receivedAtMs }: DecodedHeartbeat): LastLocation => ({
  imei: shownImei,
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
const reportOf = ({ imei, timestamp, receivedAtMs }: DecodedHeartbeat, location: LastLocation): Report => ({
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
