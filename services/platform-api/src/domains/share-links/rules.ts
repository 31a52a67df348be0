import { randomInt } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import { distanceM } from '../../geometry/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { Track } from '../positions/read-track.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { VehicleNow } from '../vehicles/states.ts';
import { type LinkPermission, linkPermissions, type SharedViewResponse, type ShareLink } from './schema.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const slugLength = 22;

/** Creates a slug of 22 base62 characters: 130 random bits, with an equal probability of each character. */
export const newSlug = (): string =>
  Array.from({ length: slugLength }, () => base62.charAt(randomInt(base62.length))).join('');

/** Pattern of a slug. */
export const slugPattern = `^[0-9A-Za-z]{${slugLength}}$`;

/**
 * Returns the passwords that a header value may stand for. Header bytes are read as Latin-1, without leading and
 * trailing spaces. Clients therefore send other characters as UTF-8, either raw (curl) or percent-encoded (browsers).
 */
export function passwordsIn(sent: string): string[] {
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
export const storedPermissions = (given: readonly LinkPermission[] = ['location']): LinkPermission[] =>
  linkPermissions.filter((permission) => given.includes(permission));

/** Throws 410 for a link that has ended. */
export function requireLive(link: Pick<ShareLink, 'revokedAt' | 'expiresAt' | 'isUsedUp'>, now: Date): void {
  if (link.revokedAt !== null) throw new AppError('share_link_revoked', 'The link has been revoked.');
  if (link.expiresAt <= now) throw new AppError('share_link_expired', 'The link has expired.');
  if (link.isUsedUp) throw new AppError('share_link_used_up', 'The view limit of the link has been reached.');
}

/** Returns the view of a link. It contains only the fields listed here, and nothing else of the vehicle or position. */
export function sharedView(
  link: ShareLink,
  vehicle: Pick<Vehicle, 'name' | 'vehicleNo' | 'vehicleType'>,
  now: VehicleNow,
  more: { readonly wsUrl: string; readonly track: Track; readonly nowMs: number },
): SharedViewResponse {
  const { nowMs, track } = more;
  const seen = link.permissions.includes('location') ? somewhere(now.location) : null;
  const since = nowMs - link.historyMinutes * 60_000;
  return {
    label: link.label,
    vehicle: { name: vehicle.name, vehicle_no: vehicle.vehicleNo, vehicle_type: vehicle.vehicleType },
    state: now.state,
    location: seen && {
      latitude: seen.latitude,
      longitude: seen.longitude,
      speed: seen.speed,
      course: seen.course,
      timestamp: seen.timestamp,
    },
    track: seen === null || link.historyMinutes === 0 ? [] : trackResponseSchema(track, seen, since),
    destination: link.destination,
    eta: seen && link.destination && new Date(etaMs(seen, link.destination, nowMs, track.paceKmh)).toISOString(),
    permissions: [...link.permissions],
    stream_url: null,
    ws_url: more.wsUrl,
    expires_at: link.expiresAt.toISOString(),
  };
}

/**
 * Returns null for a position that is 0, 0 without a fix. A share page has no validity flag and would show such a
 * vehicle at 0, 0.
 */
export const somewhere = (location: LastLocation | null): LastLocation | null =>
  location !== null && isNowhere(location, location.gpsValid) ? null : location;

/** Returns true for 0, 0 without a fix. */
export const isNowhere = (
  { latitude, longitude }: { readonly latitude?: unknown; readonly longitude?: unknown },
  gpsValid: unknown,
): boolean => latitude === 0 && longitude === 0 && gpsValid === false;

/** Returns the track since a time, up to the newest position, which may not be in the history yet. */
function trackResponseSchema({ points }: Track, seen: LastLocation, sinceMs: number): [number, number, number][] {
  const response = points.filter(([, , atMs]) => atMs >= sinceMs && atMs < seen.timestamp);
  const newest = [seen.latitude, seen.longitude, seen.timestamp] as const;
  return [...response, ...(seen.timestamp >= sinceMs ? [newest] : [])].map(([lat, lng, atMs]) => [lat, lng, atMs]);
}

/** Ratio of road distance to the straight line. */
const detour = 1.3;
const usualSpeedKmh = 40;

/**
 * Estimates the arrival: the straight line times the detour factor, at the recent pace of the vehicle. Without a pace,
 * it assumes the current speed or the usual speed in towns, whichever is higher.
 */
export function etaMs(
  from: Pick<LastLocation, 'latitude' | 'longitude' | 'speed'>,
  to: { readonly latitude: number; readonly longitude: number },
  nowMs: number,
  paceKmh: number | null = null,
): number {
  const km = (detour * distanceM([from.latitude, from.longitude], [to.latitude, to.longitude])) / 1_000;
  return nowMs + Math.round((km / (paceKmh ?? Math.max(from.speed, usualSpeedKmh))) * 3_600_000);
}
