import { encodePolyline } from '../../geometry/polyline.ts';
import type { VehicleThresholds } from '../../platform/thresholds.ts';
import { type LocationResponse, toLocationResponse } from '../last-positions/responses.ts';
import { deriveState } from '../last-positions/rules.ts';
import type { NotificationTime } from '../notifications/notification-times.ts';
import { toPosition } from './outlier-filter.ts';
import type { Point, TripResponse } from './schema.ts';
import type { Trip } from './trips.ts';

/** The vehicle of a history, and whether the caller may see its drivers. */
export interface HistoryFrame {
  readonly vehicleId: number;
  readonly seesDrivers: boolean;
  readonly thresholds: VehicleThresholds;
}

/** Converts a point of the history; the vehicle's state is that at the time of the point. */
export const toPointResponse = (
  { position, driverId }: Point,
  { vehicleId, seesDrivers, thresholds }: HistoryFrame,
): LocationResponse =>
  toLocationResponse(position, {
    vehicleId,
    driverId: seesDrivers ? driverId : null,
    state: deriveState(position, position.serverTimestamp, thresholds),
  });

/** Converts a trip with the notifications during it. */
export function toTripResponse(
  trip: Trip,
  frame: HistoryFrame,
  {
    happened,
    driverNames,
  }: {
    readonly happened: readonly Pick<NotificationTime, 'type' | 'timestamp'>[];
    readonly driverNames: ReadonlyMap<number, string>;
  },
): TripResponse {
  const driverId = frame.seesDrivers ? trip.driverId : null;
  const durationMs = trip.lastAtMs - trip.startedAtMs;
  const counts: Record<string, number> = {};
  for (const { type, timestamp } of happened)
    if (timestamp >= trip.startedAtMs && timestamp <= trip.lastAtMs) counts[type] = (counts[type] ?? 0) + 1;
  return {
    started_at: new Date(trip.startedAtMs).toISOString(),
    ended_at: trip.endedAtMs === null ? null : new Date(trip.endedAtMs).toISOString(),
    start: toPointResponse(trip.start, frame),
    end: trip.end && toPointResponse(trip.end, frame),
    distance_km: rounded(trip.distanceM / 1_000, 3),
    duration_seconds: Math.round(durationMs / 1_000),
    idle_seconds: Math.round(trip.idleMs / 1_000),
    max_speed: trip.maxSpeedKmh,
    average_speed: rounded((trip.distanceM / durationMs) * 3_600, 1),
    driver_id: driverId,
    driver_name: driverId === null ? null : (driverNames.get(driverId) ?? null),
    polyline: encodePolyline(trip.line.map(({ position }) => toPosition(position))),
    event_counts: counts,
  };
}

const rounded = (value: number, digits: number): number => Number(value.toFixed(digits));
