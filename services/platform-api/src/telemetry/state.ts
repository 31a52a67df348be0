import type { OdometerState } from '../domains/positions/odometer.ts';
import type { LastLocation } from '../domains/realtime/schema.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { Heartbeat } from './heartbeat.ts';
import type { RuleStates } from './pass-rules.ts';
import type { Told } from './told.ts';

/** Reports that came last, by time and hash: what a terminal sends again is known by it. */
export const recentReports = 16;

/**
 * What is remembered of a vehicle between two reports. Redis has it as JSON under `rule-state:<canonical number>`; MongoDB has the state of the last turn, and
 * of the last minute or so, in `rule_states`, in case that Redis is lost.
 */
export interface VehicleState {
  /** When the stream was made whose sequences are meant. */
  readonly stream: string;
  /** The last message that was applied. */
  readonly seq: number;
  /** Another vehicle with the same terminal begins anew. */
  readonly vehicleId: number;
  /** As the vehicle has it: the same terminal that was taken out meanwhile begins anew, too. */
  readonly terminalSinceMs?: number | undefined;
  readonly location: LastLocation;
  /** The newest one, of a partner's device that sends some. */
  readonly heartbeat?: Heartbeat | undefined;
  /** Where there are heartbeats: the place has a value of a position or of a heartbeat, this knows of when. */
  readonly told?: Told | undefined;
  /** `<time>:<hash>` of the newest reports, the oldest first. */
  readonly recent: readonly string[];
  /** Kilometres since the terminal was first heard of in this vehicle. */
  readonly travelledKm: number;
  /** What the count of kilometres remembers. */
  readonly odometer: OdometerState | undefined;
  readonly rules: RuleStates;
}

/** Whether a state is that of a terminal in this vehicle, since it was last put there. */
export const isStateOf = (
  { vehicleId, terminalSinceMs }: Pick<VehicleState, 'vehicleId' | 'terminalSinceMs'>,
  vehicle: Pick<Vehicle, '_id' | 'terminalSinceMs'> | undefined,
): boolean => vehicleId === vehicle?._id && terminalSinceMs === vehicle.terminalSinceMs;

/** Whether a report is older than the vehicle's newest; a state without reports has only heard heartbeats. */
export const isLateFor = (state: VehicleState | null, timestamp: number): boolean =>
  state !== null && state.recent.length > 0 && timestamp < state.location.timestamp;
