import type { LastLocation } from '../domains/realtime/schema.ts';
import type { Rule, RuleContext } from '../rules/rule.ts';
import type { DecodedHeartbeat } from './decode.ts';
import type { Judged, Place } from './judge.ts';
import { backfilledAfterMs, passRules } from './pass-rules.ts';
import type { Report } from './report.ts';
import type { VehicleState } from './state.ts';

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
  const told: Heartbeat = { timestamp, ignition, batteryPercent, externalVoltage, signal };
  const heardAtMs = Math.max(receivedAtMs, last.heardAtMs ?? 0);
  const location = { ...completed(newest(last, told), told), heardAtMs };
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
    heartbeat: told,
    rules: passed.states,
  };
  const { raised, amended, attached } = passed;
  return { ...nothing, state, raised, amended, attached, turned: before === null || passed.turned };
}

/** A position with what a heartbeat that is newer has said. */
export function newest(position: LastLocation, heartbeat: Heartbeat | undefined): LastLocation {
  if (heartbeat === undefined || heartbeat.timestamp <= position.timestamp) return position;
  return {
    ...position,
    ignition: heartbeat.ignition ?? position.ignition,
    batteryPercent: heartbeat.batteryPercent ?? position.batteryPercent,
    externalVoltage: heartbeat.externalVoltage ?? position.externalVoltage,
    signal: heartbeat.signal ?? position.signal,
  };
}

/** The newest position of a device: what it does not say stays as it was known, where the device says some of it in heartbeats. */
export function locationAfter(before: VehicleState | null, position: LastLocation): LastLocation {
  if (before?.heartbeat === undefined || position.source !== 'partner') return position;
  const { heardAtMs } = before.location;
  return { ...completed(newest(position, before.heartbeat), before.location), heardAtMs };
}

const completed = (position: LastLocation, known: Omit<Heartbeat, 'timestamp'>): LastLocation => ({
  ...position,
  ignition: position.ignition ?? known.ignition,
  batteryPercent: position.batteryPercent ?? known.batteryPercent,
  externalVoltage: position.externalVoltage ?? known.externalVoltage,
  signal: position.signal ?? known.signal,
});

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
