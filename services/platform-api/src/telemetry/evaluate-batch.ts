import type { AttachmentsRequested } from '@fleet/bus';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { NotificationRequest } from '../domains/notifications/to-notification.ts';
import { odometerOf } from '../domains/positions/odometer.ts';
import { PointIndex } from '../domains/positions/point-index.ts';
import type { NewPoint } from '../domains/positions/schema.ts';
import { isOutOfOrder, isStateOf, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { FindingUpdate } from '../rules/rule.ts';
import type { RuleSettings } from '../rules/rule-settings.ts';
import type { ReceivedReport } from './decode-batch.ts';
import { type Decoded, type DecodedReport, deviceTimestamp } from './decode-report.ts';
import { evaluateHeartbeat } from './evaluate-heartbeat.ts';
import { type Evaluators, evaluateReport, type StateOrigin } from './evaluate-report.ts';
import { toRuleContext, type VehicleContext } from './vehicle-context-cache.ts';

/** A vehicle that reported, before and after. */
export interface VehicleUpdate {
  readonly known: VehicleContext;
  readonly before: VehicleState | null;
  readonly state: VehicleState;
}

/** Results of some messages before anything is written. */
export interface BatchResult {
  /** By canonical number. */
  readonly updates: Map<string, VehicleUpdate>;
  /** States to save durably and immediately. */
  readonly statesToPersist: Map<string, VehicleState>;
  readonly notifications: NotificationRequest[];
  readonly notificationUpdates: FindingUpdate[];
  /** Alarms with files. */
  readonly attachmentRequests: AttachmentsRequested[];
  /** Points for the history, including those of messages processed before. */
  readonly points: NewPoint[];
}

/** Returns reports older than the newest one of their vehicle: the database decides whether its history has them. */
export function findLateReports(
  reports: readonly ReceivedReport[],
  vehicles: ReadonlyMap<string, VehicleContext | null>,
  states: ReadonlyMap<string, VehicleState>,
): { readonly imei: string; readonly vehicleId: number; readonly timestamp: number; readonly hash: string }[] {
  return reports.flatMap(({ report, seq }) => {
    const known = vehicles.get(report.imei);
    const state = states.get(report.imei);
    if (report.kind === 'heartbeat' || known === null || known === undefined) return [];
    if (state === undefined || seq <= state.seq) return [];
    const timestamp = deviceTimestamp(report, known.vehicle.cameraUtcOffset);
    const isLate = isStateOf(state, known.vehicle) && isOutOfOrder(state, timestamp);
    return isLate ? [{ imei: report.imei, vehicleId: known.vehicle._id, timestamp, hash: report.hash }] : [];
  });
}

/** Dependencies of `evaluateBatch` that are equal for all batches of a partition. */
interface BatchContext {
  readonly stream: string;
  readonly settings: RuleSettings;
  readonly evaluators: Evaluators;
}

/** Evaluates reports with the rules, in order, each vehicle from its current state. */
export function evaluateBatch(
  reports: readonly ReceivedReport[],
  vehicles: ReadonlyMap<string, VehicleContext | null>,
  states: ReadonlyMap<string, VehicleState>,
  { stream, settings, evaluators }: BatchContext,
): BatchResult {
  const batch: BatchResult = {
    updates: new Map(),
    statesToPersist: new Map(),
    notifications: [],
    notificationUpdates: [],
    attachmentRequests: [],
    points: [],
  };
  const own = new PointIndex(batch.points);
  // A batch that was sent twice may be in one batch.
  const parts = {
    settings,
    evaluators: {
      ...evaluators,
      isKnown: (position: LastLocation, hash: string) => own.has(position, hash) || evaluators.isKnown(position, hash),
    },
  };
  for (const { report, seq, trace } of reports) {
    const known = vehicles.get(report.imei);
    if (!belongsTo(report, known)) continue;
    const before = batch.updates.get(report.imei)?.state ?? currentState(states.get(report.imei), known, stream);
    // A further entry of the same message is not processed yet, although the state has the message's number.
    const first = batch.updates.get(report.imei)?.before ?? currentState(states.get(report.imei), known, stream);
    if (first === null || seq > first.seq)
      applyToBatch(batch, known, report, before, first, { stream, seq, trace }, parts);
    else if (report.kind === 'position') batch.points.push(replayedPoint(known, report, first));
  }
  return batch;
}

/**
 * Returns whether a report belongs to a vehicle. A number may be one account's vehicle and another's mining device:
 * partner reports for the latter do not count. Nor do reports received while the terminal was in another vehicle.
 */
export const belongsTo = (
  { accountId, receivedAtMs }: Decoded,
  known: VehicleContext | null | undefined,
): known is VehicleContext =>
  known !== null &&
  known !== undefined &&
  (accountId === null || accountId === known.vehicle.accountId) &&
  hadTerminalAt(known.vehicle, receivedAtMs);

// Another vehicle with the terminal, a new assignment and another stream start with a new state.
function currentState(
  state: VehicleState | undefined,
  { vehicle }: VehicleContext,
  stream: string,
): VehicleState | null {
  if (state === undefined || !isStateOf(state, vehicle)) return null;
  return state.stream === stream ? state : { ...state, stream, seq: 0 };
}

function applyToBatch(
  batch: BatchResult,
  known: VehicleContext,
  report: Decoded,
  before: VehicleState | null,
  first: VehicleState | null,
  { trace, ...origin }: StateOrigin & Pick<ReceivedReport, 'trace'>,
  { settings, evaluators }: Pick<BatchContext, 'settings' | 'evaluators'>,
): void {
  const { vehicle, imei } = known;
  const context = toRuleContext(known, odometerOf(vehicle, before?.travelledKm ?? 0), settings);
  const stateOrigin = { ...origin, terminalSinceMs: vehicle.terminalSinceMs };
  const evaluation =
    report.kind === 'position'
      ? evaluateReport(before, report, context, stateOrigin, evaluators)
      : evaluateHeartbeat(before, report, context, stateOrigin, evaluators.rules);
  batch.updates.set(imei, { known, before: first, state: evaluation.state });
  if (evaluation.mustPersist || batch.statesToPersist.has(imei)) batch.statesToPersist.set(imei, evaluation.state);
  const { geofences } = known;
  for (const raised of evaluation.findings)
    batch.notifications.push({ vehicle: context.vehicle, raised, geofences, trace });
  batch.notificationUpdates.push(...evaluation.updates);
  for (const request of evaluation.attachmentRequests)
    batch.attachmentRequests.push({ ...request, accountId: vehicle.accountId, vehicleId: vehicle._id, imei });
  if (evaluation.position !== null) batch.points.push(newPoint(known, evaluation.position, evaluation.hash));
}

/** Returns the point of a report whose message was processed before a crash, perhaps without reaching the history. */
function replayedPoint(known: VehicleContext, report: DecodedReport, state: VehicleState): NewPoint {
  const timestamp = deviceTimestamp(report, known.vehicle.cameraUtcOffset);
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

const newPoint = ({ vehicle }: VehicleContext, position: LastLocation, hash: string): NewPoint => ({
  vehicleId: vehicle._id,
  accountId: vehicle.accountId,
  position,
  hash,
  driverId: vehicle.driverId,
});
