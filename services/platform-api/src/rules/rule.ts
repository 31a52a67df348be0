import type { Geofence } from '../domains/geofences/schema.ts';
import type { Severity } from '../domains/notifications/types.ts';
import type { StoredRoute } from '../domains/planned-routes/schema.ts';
import type { Report } from '../telemetry/report.ts';
import type { RuleSettings } from './rule-settings.ts';

/** The vehicle of a report, as rules and notifications need it. */
export interface RuleVehicle {
  readonly id: number;
  readonly accountId: number;
  readonly ownerUserId: number;
  readonly vehicleNo: string;
  /** Canonical terminal number. */
  readonly imei: string;
  /** IANA name. */
  readonly timezone: string;
  /** UTC offset of the terminal's own clock, such as `+08:00`. */
  readonly cameraUtcOffset: string;
  readonly speedLimitKmh: number | null;
  readonly tankCapacityL: number | null;
  readonly driverId: number | null;
  /** Mileage of the vehicle at this report. */
  readonly odometerKm: number;
  /** `attributes.next_service_km`, if it is a number. */
  readonly nextServiceKm: number | null;
}

/** Input of the rules beside the report. */
export interface RuleContext {
  readonly vehicle: RuleVehicle;
  /** Geofences that apply to the vehicle. */
  readonly geofences: readonly Geofence[];
  /** Active routes that are linked to the vehicle. */
  readonly routes: readonly StoredRoute[];
  readonly settings: RuleSettings;
}

/** A finding of a rule, which becomes one notification. */
export interface Finding {
  /** `notification_type`. */
  readonly type: string;
  /** Subject within the type: geofence and event, route and waypoint, channel, tyre, alarm id; empty without one. */
  readonly subject: string;
  /** Device time in ms; the event time, and a part of the dedupe key. */
  readonly atMs: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly gpsValid: boolean;
  /** If it differs from that of the type. */
  readonly severity?: Severity;
  /** If it differs from that of the type. */
  readonly description?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly backfilled: boolean;
  /** If it differs from the vehicle's. */
  readonly driverId?: number | null;
}

/**
 * A change of the attributes of an earlier notification (`count`, `ended_at`): values, not increments, so that a
 * repetition has no effect.
 */
export interface FindingUpdate {
  readonly dedupeKey: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Files of an alarm on the terminal (T/JSATL 12-2017), to be requested. */
export interface AttachmentRequest {
  /** Dedupe key of the alarm's notification. */
  readonly dedupeKey: string;
  /** The alarm's tag as received. */
  readonly tagHex: string;
  readonly count: number;
  readonly atMs: number;
}

/** Result of a rule for one report. */
export interface Outcome<S> {
  /** JSON; stored between reports of a vehicle. Undefined: no state. */
  readonly state: S | undefined;
  readonly findings: readonly Finding[];
  readonly updates: readonly FindingUpdate[];
  readonly attachmentRequests?: readonly AttachmentRequest[];
  /**
   * True if the state changed by more than times and counters that later reports would restore: it is then stored
   * durably before the report is acknowledged.
   */
  readonly mustPersist: boolean;
}

/** Evaluates the reports of one vehicle, in order. Without I/O and clock: all times are those of the reports. */
export interface Rule<S = unknown> {
  /** Key of its state in the vehicle's state. */
  readonly name: string;
  /** Whether it also receives reports older than the newest one (`report.isLate`). */
  readonly takesLate: boolean;
  /**
   * Whether it also receives partner heartbeats, as reports at the last position with the heartbeat's time and values.
   */
  readonly takesHeartbeats?: true;
  // `state` is undefined at a vehicle's first report, and never changed in place. (A method, so that rules with
  // different states fit in one list.)
  step(state: S | undefined, report: Report, context: RuleContext): Outcome<S>;
}

/** Returns the dedupe key of a notification. */
export const dedupeKeyOf = (
  imei: string | null,
  { type, subject, atMs }: Pick<Finding, 'type' | 'subject' | 'atMs'>,
): string => `${imei ?? 'none'}:${type}:${subject}:${atMs}`;

/** Returns no findings. */
export const noFindings = <S>(state: S | undefined): Outcome<S> => ({
  state,
  findings: [],
  updates: [],
  mustPersist: false,
});
