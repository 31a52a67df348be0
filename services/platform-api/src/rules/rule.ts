import type { Geofence } from '../domains/geofences/schema.ts';
import type { Severity } from '../domains/notifications/types.ts';
import type { StoredRoute } from '../domains/routes/schema.ts';
import type { Report } from '../telemetry/report.ts';
import type { RuleSettings } from './settings.ts';

/** The vehicle that a report is of, as rules and notifications need it. */
export interface RuledVehicle {
  readonly id: number;
  readonly accountId: number;
  readonly ownerUserId: number;
  readonly vehicleNo: string;
  /** Canonical terminal number. */
  readonly imei: string;
  /** IANA name. */
  readonly timezone: string;
  /** `+08:00` and the like: the terminal's own clock. */
  readonly cameraUtcOffset: string;
  readonly speedLimitKmh: number | null;
  readonly tankCapacityL: number | null;
  readonly driverId: number | null;
  /** The vehicle's own count at this report. */
  readonly odometerKm: number;
  /** `attributes.next_service_km`, where it is a number. */
  readonly nextServiceKm: number | null;
}

/** What a report is judged by. */
export interface RuleContext {
  readonly vehicle: RuledVehicle;
  /** Those that hold for the vehicle. */
  readonly geofences: readonly Geofence[];
  /** Those that are linked to the vehicle and active. */
  readonly routes: readonly StoredRoute[];
  readonly settings: RuleSettings;
}

/** Something that a rule has found: it becomes one notification. */
export interface Raised {
  /** `notification_type` (platform-contract.md, section 13.1). */
  readonly type: string;
  /** What it is about within the type: geofence and event, route and waypoint, channel, tyre, alarm id; empty where there is none. */
  readonly subject: string;
  /** Device time in ms; it is the event time, and a part of the dedupe key. */
  readonly atMs: number;
  readonly latitude: number;
  readonly longitude: number;
  readonly gpsValid: boolean;
  /** Where it differs from that of the type. */
  readonly severity?: Severity;
  /** Where it differs from that of the type. */
  readonly description?: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly backfilled: boolean;
  /** Where it is another than the vehicle's. */
  readonly driverId?: number | null;
}

/** A change of the attributes of a notification that was raised before (`count`, `ended_at`): values, not increments, so that doing it twice is doing it once. */
export interface Amended {
  readonly dedupeKey: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** Files that the terminal holds of an alarm (T/JSATL 12-2017), to be asked for. */
export interface Attached {
  /** Of the notification that the alarm has become, or was counted in. */
  readonly dedupeKey: string;
  /** The alarm's tag as it came. */
  readonly tagHex: string;
  readonly count: number;
  readonly atMs: number;
}

/** What a rule says of one report. */
export interface Outcome<S> {
  /** JSON; kept between reports of a vehicle. Undefined: nothing to keep. */
  readonly state: S | undefined;
  readonly raised: readonly Raised[];
  readonly amended: readonly Amended[];
  readonly attached?: readonly Attached[];
  /** True where the state has changed by more than times and counters that the next reports would bring again: it is then kept durably before the report is acknowledged. */
  readonly turned: boolean;
}

/** Watches the reports of one vehicle, in order. Without I/O and without a clock: all times are those of the reports. */
export interface Rule<S = unknown> {
  /** Key of its state among the vehicle's. */
  readonly name: string;
  /** Whether reports that are older than the newest go to it, too (`report.isLate`). */
  readonly takesLate: boolean;
  /** Whether heartbeats that partners send between two positions go to it, too: as a report from the last place, with the heartbeat's time and values. */
  readonly takesHeartbeats?: true;
  /** `state` is undefined at a vehicle's first report. It is never changed in place. (A method, so that rules with states of their own fit in one list.) */
  step(state: S | undefined, report: Report, context: RuleContext): Outcome<S>;
}

/** What makes a notification the same one when it is raised again (design.md, section 3). */
export const dedupeKeyOf = (
  imei: string | null,
  { type, subject, atMs }: Pick<Raised, 'type' | 'subject' | 'atMs'>,
): string => `${imei ?? 'none'}:${type}:${subject}:${atMs}`;

/** Nothing new. */
export const quiet = <S>(state: S | undefined): Outcome<S> => ({ state, raised: [], amended: [], turned: false });
