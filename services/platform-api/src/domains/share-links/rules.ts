import { randomInt } from 'node:crypto';
import { AppError, hourMs, minuteMs } from '@fleet/service-kit';
import { distanceM } from '../../geometry/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { Track } from '../positions/read-track.ts';
import type { VehicleLiveState } from '../vehicles/live-states.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import {
  type LinkPermission,
  linkPermissions,
  type SharedVideo,
  type SharedViewResponse,
  type ShareLink,
} from './schema.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const slugLength = 22;

/** Creates a slug of 22 base62 characters: 130 random bits, with an equal probability of each character. */
export const createSlug = (): string =>
  Array.from({ length: slugLength }, () => base62.charAt(randomInt(base62.length))).join('');

/** Pattern of a slug. */
export const slugPattern = `^[0-9A-Za-z]{${slugLength}}$`;

/**
 * Returns the passwords that a header value may stand for. Header bytes are read as Latin-1, without leading and
 * trailing spaces. Clients therefore send other characters as UTF-8, either raw (curl) or percent-encoded (browsers).
 */
export function passwordCandidates(sent: string): string[] {
  const utf8 = Buffer.from(sent, 'latin1').toString('utf8');
  return [...new Set([sent, utf8, percentDecoded(sent)])];
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Normalizes permissions for storage: no duplicates, fixed order. The default is the location. */
export const normalizePermissions = (permissions: readonly LinkPermission[] = ['location']): LinkPermission[] =>
  linkPermissions.filter((permission) => permissions.includes(permission));

/** Throws 410 for a link that has ended. */
export function assertLive(link: Pick<ShareLink, 'revokedAt' | 'expiresAt' | 'isUsedUp'>, now: Date): void {
  if (link.revokedAt !== null) throw new AppError('share_link_revoked', 'The link has been revoked.');
  if (link.expiresAt <= now) throw new AppError('share_link_expired', 'The link has expired.');
  if (link.isUsedUp) throw new AppError('share_link_used_up', 'The view limit of the link has been reached.');
}

/** Returns the view of a link. It contains only the fields listed here, and nothing else of the vehicle or position. */
export function toSharedViewResponse(
  link: ShareLink,
  vehicle: Pick<Vehicle, 'name' | 'vehicleNo' | 'vehicleType'>,
  now: VehicleLiveState,
  more: { readonly wsUrl: string; readonly track: Track; readonly video: SharedVideo; readonly nowMs: number },
): SharedViewResponse {
  const { nowMs, track } = more;
  const location = link.permissions.includes('location') ? withoutNullIsland(now.location) : null;
  const since = nowMs - link.historyMinutes * minuteMs;
  return {
    label: link.label,
    vehicle: { name: vehicle.name, vehicle_no: vehicle.vehicleNo, vehicle_type: vehicle.vehicleType },
    state: now.state,
    state_since: now.stateSinceMs,
    location: location && {
      latitude: location.latitude,
      longitude: location.longitude,
      speed: location.speed,
      course: location.course,
      timestamp: location.timestamp,
    },
    track: location === null || link.historyMinutes === 0 ? [] : toTrackResponse(track, location, since),
    destination: link.destination,
    eta:
      location &&
      link.destination &&
      new Date(estimateArrivalMs(location, link.destination, nowMs, track.paceKmh)).toISOString(),
    permissions: [...link.permissions],
    ...more.video,
    ws_url: more.wsUrl,
    expires_at: link.expiresAt.toISOString(),
  };
}

/**
 * Returns null for a position that is 0, 0 without a fix. A share page has no validity flag and would show such a
 * vehicle at 0, 0.
 */
export const withoutNullIsland = (location: LastLocation | null): LastLocation | null =>
  location !== null && isNullIsland(location, location.gpsValid) ? null : location;

/** Returns true for 0, 0 without a fix. */
export const isNullIsland = (
  { latitude, longitude }: { readonly latitude?: unknown; readonly longitude?: unknown },
  gpsValid: unknown,
): boolean => latitude === 0 && longitude === 0 && gpsValid === false;

/** Returns the track since a time, up to the newest position, which may not be in the history yet. */
function toTrackResponse({ points }: Track, location: LastLocation, sinceMs: number): [number, number, number][] {
  const response = points.filter(([, , atMs]) => atMs >= sinceMs && atMs < location.timestamp);
  const newest = [location.latitude, location.longitude, location.timestamp] as const;
  return [...response, ...(location.timestamp >= sinceMs ? [newest] : [])].map(([lat, lng, atMs]) => [lat, lng, atMs]);
}

interface Place {
  readonly latitude: number;
  readonly longitude: number;
}

/** Ratio of road distance to the straight line. */
const detourFactor = 1.3;
const defaultSpeedKmh = 40;

/**
 * Estimates the arrival by the length of the road, at the recent pace of the vehicle. Without a pace,
 * it assumes the current speed or the usual speed in towns, whichever is higher.
 */
export function estimateArrivalMs(
  from: Pick<LastLocation, 'latitude' | 'longitude' | 'speed'>,
  to: Place,
  nowMs: number,
  paceKmh: number | null = null,
): number {
  const km = estimateRoadKm(from, to);
  return nowMs + Math.round((km / (paceKmh ?? Math.max(from.speed, defaultSpeedKmh))) * hourMs);
}

/** Estimates the length of the road between two places: the straight line times the detour factor. */
export const estimateRoadKm = (from: Place, to: Place): number =>
  (detourFactor * distanceM([from.latitude, from.longitude], [to.latitude, to.longitude])) / 1_000;
