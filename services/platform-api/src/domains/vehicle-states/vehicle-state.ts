import type { Heartbeat } from '../../telemetry/evaluate-heartbeat.ts';
import type { LatestReadings } from '../../telemetry/latest-readings.ts';
import type { RuleStates } from '../../telemetry/run-rules.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { OdometerState } from '../positions/odometer.ts';
import type { Vehicle } from '../vehicles/schema.ts';

/** Number of recent reports, by time and hash, with which repetitions are detected. */
export const recentReports = 16;

/**
 * State of a vehicle between two reports. Redis stores it as JSON under `rule-state:{telemetry-<partition>}:<canonical number>`. MongoDB stores
 * it in `rule_states` at each change, and about once a minute, in case Redis is lost.
 */
export interface VehicleState {
  /** Creation time of the stream of the sequence number. */
  readonly stream: string;
  /** Sequence number of the last processed message. */
  readonly seq: number;
  /** Another vehicle with the same terminal starts with a new state. */
  readonly vehicleId: number;
  /** From the vehicle: a terminal that was removed and assigned again starts with a new state, too. */
  readonly terminalSinceMs?: number | undefined;
  readonly location: LastLocation;
  /** Newest heartbeat of a partner's device. */
  readonly heartbeat?: Heartbeat | undefined;
  /** With heartbeats: the times of the values of `location`, which come from positions or heartbeats. */
  readonly latestReadings?: LatestReadings | undefined;
  /** `<time>:<hash>` of the newest reports, oldest first. */
  readonly recent: readonly string[];
  /** Kilometres since the terminal's first report in this vehicle. */
  readonly travelledKm: number;
  /** State of the mileage count. */
  readonly odometer: OdometerState | undefined;
  readonly rules: RuleStates;
}

/** Returns whether a state belongs to a terminal in this vehicle, since its last assignment. */
export const isStateOf = (
  { vehicleId, terminalSinceMs }: Pick<VehicleState, 'vehicleId' | 'terminalSinceMs'>,
  vehicle: Pick<Vehicle, '_id' | 'terminalSinceMs'> | undefined,
): boolean => vehicleId === vehicle?._id && terminalSinceMs === vehicle.terminalSinceMs;

/** Returns whether a report is older than the vehicle's newest one; a state without reports has only heartbeats. */
export const isOutOfOrder = (state: VehicleState | null, timestamp: number): boolean =>
  state !== null && state.recent.length > 0 && timestamp < state.location.timestamp;
