import type { LastLocation } from '../domains/realtime/schema.ts';
import type { Rule, RuleContext } from '../rules/rule.ts';
import type { DecodedHeartbeat } from './decode.ts';
import type { Judged, Place } from './judge.ts';
import { backfilledAfterMs, passRules } from './pass-rules.ts';
import type { Report } from './report.ts';
import type { VehicleState } from './state.ts';
import { newest, toldBefore, withHeartbeat, withPosition } from './told.ts';

/** What the newest heartbeat of a partner's device has said. */
export type Heartbeat = Pick<
  DecodedHeartbeat,
  'timestamp' | 'ignition' | 'batteryPercent' | 'externalVoltage' | 'signal'
>;

/**
 * Passes a heartbeat through the rules that look at what it says. It is no position: the place stays, nothing goes into the history or to the odometer. One that is
 * older than the newest changes nothing.
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
  const told = withHeartbeat(toldBefore(before), newestHeartbeat);
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

/** A position with what a heartbeat that is newer has said. */
export const updatedPosition = (before: VehicleState | null, position: LastLocation): LastLocation =>
  before?.heartbeat === undefined ? position : { ...position, ...newest(position, toldBefore(before)) };

/**
 * What is remembered of a device behind a position that is its newest. What that does not say stays as it was known where the device says some of it in
 * heartbeats; who has said it stays known, too: a heartbeat may come that is older than the position and newer than that.
 */
export function stateAfter(
  before: VehicleState | null,
  position: LastLocation,
): Pick<VehicleState, 'location' | 'heartbeat' | 'told'> {
  if (before?.heartbeat === undefined) return { location: position };
  const { heartbeat } = before;
  const told = withPosition(toldBefore(before), position);
  if (position.source !== 'partner') return { location: position, heartbeat, told };
  const { heardAtMs } = before.location;
  return { location: { ...position, ...told.values, heardAtMs }, heartbeat, told };
}

/** Of a device that has lived before it had a position. */
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

/** What rules see of it. */
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
