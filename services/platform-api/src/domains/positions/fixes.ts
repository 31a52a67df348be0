import { distanceM, type Position } from '../../geometry/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';

/** What a position says of where a vehicle was. */
export type Fix = Pick<LastLocation, 'latitude' | 'longitude' | 'gpsValid' | 'speed' | 'timestamp'>;

/** Faster than any vehicle on a road: a jump of the receiver. */
const maxSpeedKmh = 250;
/** A receiver that has jumped and stays there was wrong before. */
const jumpsToBelieve = 3;

export const placeOf = ({ latitude, longitude }: Pick<Fix, 'latitude' | 'longitude'>): Position => [
  latitude,
  longitude,
];

/** False without a fix, and for 0, 0, which terminals send before they have had one. */
export const isFix = ({ gpsValid, latitude, longitude }: Fix): boolean =>
  gpsValid && (latitude !== 0 || longitude !== 0);

/** The place that a vehicle was last believed to be at. */
export interface Believed {
  readonly latitude: number;
  readonly longitude: number;
  readonly atMs: number;
  /** Fixes since then that were too far away to be true. */
  readonly jumps: number;
}

/** What a fix is next to the one before. */
export type Step =
  | { readonly kind: 'first' | 'moved' | 'relocated'; readonly believed: Believed; readonly distanceM: number }
  | { readonly kind: 'jump'; readonly believed: Believed; readonly distanceM: 0 };

/** Follows the fixes of a vehicle: one that it cannot have reached is a jump, and believed only when the receiver stays there. */
export function follow(before: Believed | null, fix: Fix): Step {
  const here = { latitude: fix.latitude, longitude: fix.longitude, atMs: fix.timestamp, jumps: 0 };
  if (before === null) return { kind: 'first', believed: here, distanceM: 0 };
  const wayM = distanceM(placeOf(before), placeOf(fix));
  const seconds = Math.max(1, (fix.timestamp - before.atMs) / 1_000);
  if ((wayM / seconds) * 3.6 <= maxSpeedKmh) return { kind: 'moved', believed: here, distanceM: wayM };
  const jumps = before.jumps + 1;
  if (jumps >= jumpsToBelieve) return { kind: 'relocated', believed: here, distanceM: 0 };
  return { kind: 'jump', believed: { ...before, jumps }, distanceM: 0 };
}
