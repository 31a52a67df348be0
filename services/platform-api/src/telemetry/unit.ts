import { type AttachmentsRequested, readTelemetryBatch, type StreamMessage } from '@fleet/bus';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { ToRaise } from '../domains/notifications/content.ts';
import { odometerOf } from '../domains/positions/odometer.ts';
import { PointIndex } from '../domains/positions/point-index.ts';
import type { NewPoint } from '../domains/positions/schema.ts';
import { isLateFor, isStateOf, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { hadTerminal } from '../domains/vehicles/rules.ts';
import type { Amended } from '../rules/rule.ts';
import type { RuleSettings } from '../rules/settings.ts';
import { type Decoded, type DecodedReport, decodeReport, instantOf } from './decode.ts';
import { contextOf, type FleetVehicle } from './fleet.ts';
import { judgeHeartbeat } from './heartbeat.ts';
import { type Judges, judge, type Place } from './judge.ts';

/** A report or a heartbeat, and its message. */
export interface Arrived {
  readonly report: Decoded;
  readonly seq: number;
}

/** A vehicle that reported, before and after. */
export interface Moved {
  readonly known: FleetVehicle;
  readonly before: VehicleState | null;
  readonly state: VehicleState;
}

/** Results of some messages before anything is written. */
export interface Unit {
  /** By canonical number. */
  readonly moved: Map<string, Moved>;
  /** States to save durably and immediately. */
  readonly turned: Map<string, VehicleState>;
  readonly raised: ToRaise[];
  readonly amended: Amended[];
  /** Alarms with files. */
  readonly attached: AttachmentsRequested[];
  /** Points for the history, including those of messages processed before. */
  readonly points: NewPoint[];
}

/** Returns the reports of some messages; invalid ones are skipped and reported to `onFault`. */
export function arrivedIn(messages: readonly StreamMessage[], onFault: (fault: string) => void): Arrived[] {
  const arrived: Arrived[] = [];
  for (const { data, sequence: seq } of messages) {
    try {
      for (const report of readTelemetryBatch(data))
        for (const decoded of decodeReport(report, onFault)) arrived.push({ report: decoded, seq });
    } catch (error) {
      // An invalid batch would stop the partition forever.
      onFault(`a batch: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return arrived;
}

/** Returns reports older than the newest one of their vehicle: the database decides whether its history has them. */
export function lateOnes(
  arrived: readonly Arrived[],
  vehicles: ReadonlyMap<string, FleetVehicle | null>,
  states: ReadonlyMap<string, VehicleState>,
): { readonly imei: string; readonly vehicleId: number; readonly timestamp: number; readonly hash: string }[] {
  return arrived.flatMap(({ report, seq }) => {
    const known = vehicles.get(report.imei);
    const state = states.get(report.imei);
    if (report.kind === 'heartbeat' || known === null || known === undefined) return [];
    if (state === undefined || seq <= state.seq) return [];
    const timestamp = instantOf(report, known.vehicle.cameraUtcOffset);
    const isLate = isStateOf(state, known.vehicle) && isLateFor(state, timestamp);
    return isLate ? [{ imei: report.imei, vehicleId: known.vehicle._id, timestamp, hash: report.hash }] : [];
  });
}

/** Dependencies of `judgeUnit` that are equal for all batches of a partition. */
export interface UnitParts {
  readonly stream: string;
  readonly settings: RuleSettings;
  readonly judges: Judges;
}

/** Evaluates reports with the rules, in order, each vehicle from its current state. */
export function judgeUnit(
  arrived: readonly Arrived[],
  vehicles: ReadonlyMap<string, FleetVehicle | null>,
  states: ReadonlyMap<string, VehicleState>,
  { stream, settings, judges }: UnitParts,
): Unit {
  const unit: Unit = { moved: new Map(), turned: new Map(), raised: [], amended: [], attached: [], points: [] };
  const own = new PointIndex(unit.points);
  // A batch that was sent twice may be in one unit.
  const parts = {
    settings,
    judges: {
      ...judges,
      isKnown: (position: LastLocation, hash: string) => own.has(position, hash) || judges.isKnown(position, hash),
    },
  };
  for (const { report, seq } of arrived) {
    const known = vehicles.get(report.imei);
    if (!mayReport(report, known)) continue;
    const before = unit.moved.get(report.imei)?.state ?? stateFor(states.get(report.imei), known, stream);
    // A further entry of the same message is not processed yet, although the state has the message's number.
    const first = unit.moved.get(report.imei)?.before ?? stateFor(states.get(report.imei), known, stream);
    if (first === null || seq > first.seq) step(unit, known, report, before, first, { stream, seq }, parts);
    else if (report.kind === 'position') unit.points.push(pointOf(known, report, first));
  }
  return unit;
}

/**
 * Returns whether a report belongs to a vehicle. A number may be one account's vehicle and another's mining device:
 * partner reports for the latter do not count. Nor do reports received while the terminal was in another vehicle.
 */
export const mayReport = (
  { accountId, receivedAtMs }: Decoded,
  known: FleetVehicle | null | undefined,
): known is FleetVehicle =>
  known !== null &&
  known !== undefined &&
  (accountId === null || accountId === known.vehicle.accountId) &&
  hadTerminal(known.vehicle, receivedAtMs);

/** Another vehicle with the terminal, a new assignment and another stream start with a new state. */
function stateFor(state: VehicleState | undefined, { vehicle }: FleetVehicle, stream: string): VehicleState | null {
  if (state === undefined || !isStateOf(state, vehicle)) return null;
  return state.stream === stream ? state : { ...state, stream, seq: 0 };
}

function step(
  unit: Unit,
  known: FleetVehicle,
  report: Decoded,
  before: VehicleState | null,
  first: VehicleState | null,
  place: Place,
  { settings, judges }: Pick<UnitParts, 'settings' | 'judges'>,
): void {
  const { vehicle, imei } = known;
  const context = contextOf(known, odometerOf(vehicle, before?.travelledKm ?? 0), settings);
  const here = { ...place, terminalSinceMs: vehicle.terminalSinceMs };
  const judged =
    report.kind === 'position'
      ? judge(before, report, context, here, judges)
      : judgeHeartbeat(before, report, context, here, judges.rules);
  unit.moved.set(imei, { known, before: first, state: judged.state });
  if (judged.turned || unit.turned.has(imei)) unit.turned.set(imei, judged.state);
  const { geofences } = known;
  for (const raised of judged.raised) unit.raised.push({ vehicle: context.vehicle, raised, geofences });
  unit.amended.push(...judged.amended);
  for (const attached of judged.attached)
    unit.attached.push({ ...attached, accountId: vehicle.accountId, vehicleId: vehicle._id, imei });
  if (judged.position !== null) unit.points.push(newPoint(known, judged.position, judged.hash));
}

/** Returns the point of a report whose message was processed before a crash, perhaps without reaching the history. */
function pointOf(known: FleetVehicle, report: DecodedReport, state: VehicleState): NewPoint {
  const timestamp = instantOf(report, known.vehicle.cameraUtcOffset);
  const position: LastLocation = {
    ...report.position,
    alarms: [],
    backfilled: report.isStored || timestamp < state.location.timestamp,
    slowSinceMs: null,
    timestamp,
    serverTimestamp: report.receivedAtMs,
  };
  return newPoint(known, position, report.hash);
}

const newPoint = ({ vehicle }: FleetVehicle, position: LastLocation, hash: string): NewPoint => ({
  vehicleId: vehicle._id,
  accountId: vehicle.accountId,
  position,
  hash,
  driverId: vehicle.driverId,
});
