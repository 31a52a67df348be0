import { distanceM, type Position } from '../../geometry/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';

/** The fields of a position that locate a vehicle. */
type Fix = Pick<LastLocation, 'latitude' | 'longitude' | 'gpsValid' | 'speed' | 'timestamp'>;

/** Faster than any road vehicle. A fix that implies a higher speed is a jump of the receiver. */
const maxSpeedKmh = 250;
/** Consecutive jumps after which the new position is accepted: the receiver was wrong before. */
const jumpsToAccept = 3;

export const toPosition = ({ latitude, longitude }: Pick<Fix, 'latitude' | 'longitude'>): Position => [
  latitude,
  longitude,
];

/** Returns false without a fix, and for 0, 0, which terminals send before their first fix. */
export const isFix = ({ gpsValid, latitude, longitude }: Fix): boolean =>
  gpsValid && (latitude !== 0 || longitude !== 0);

/** The last accepted position of a vehicle. */
export interface AcceptedFix {
  readonly latitude: number;
  readonly longitude: number;
  readonly atMs: number;
  /** Number of fixes since then that were too far away to be plausible. */
  readonly jumps: number;
}

/** A fix relative to the previous one. */
type FixResult =
  | { readonly kind: 'first' | 'moved' | 'relocated'; readonly accepted: AcceptedFix; readonly distanceM: number }
  | { readonly kind: 'jump'; readonly accepted: AcceptedFix; readonly distanceM: 0 };

/**
 * Follows the fixes of a vehicle. A fix that the vehicle cannot have reached is a jump, and is accepted only if the
 * receiver stays there.
 */
export function filterFix(before: AcceptedFix | null, fix: Fix): FixResult {
  const here = { latitude: fix.latitude, longitude: fix.longitude, atMs: fix.timestamp, jumps: 0 };
  if (before === null) return { kind: 'first', accepted: here, distanceM: 0 };
  const wayM = distanceM(toPosition(before), toPosition(fix));
  const seconds = Math.max(1, (fix.timestamp - before.atMs) / 1_000);
  if ((wayM / seconds) * 3.6 <= maxSpeedKmh) return { kind: 'moved', accepted: here, distanceM: wayM };
  const jumps = before.jumps + 1;
  if (jumps >= jumpsToAccept) return { kind: 'relocated', accepted: here, distanceM: 0 };
  return { kind: 'jump', accepted: { ...before, jumps }, distanceM: 0 };
}
