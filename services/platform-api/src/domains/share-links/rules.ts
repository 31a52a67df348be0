import { randomInt } from 'node:crypto';
import { AppError } from '@fleet/service-kit';
import { distanceM } from '../../geometry/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import type { Track } from '../positions/track.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { VehicleNow } from '../vehicles/states.ts';
import { type LinkPermission, linkPermissions, type SharedViewResponse, type ShareLink } from './schema.ts';

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const slugLength = 22;

/** 22 characters of base62: 130 random bits, each character as likely as any other. */
export const newSlug = (): string =>
  Array.from({ length: slugLength }, () => base62.charAt(randomInt(base62.length))).join('');

/** The form of a slug. */
export const slugPattern = `^[0-9A-Za-z]{${slugLength}}$`;

/**
 * The passwords that what was sent may mean. Headers have bytes, which are read as Latin-1, and no blanks at their ends: whoever sends other signs writes them as
 * UTF-8, as it is (curl) or percent-encoded (what browsers can do).
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

/** Permissions as they are stored: each once, in one order; the position where nothing is said. */
export const storedPermissions = (given: readonly LinkPermission[] = ['location']): LinkPermission[] =>
  linkPermissions.filter((permission) => given.includes(permission));

/** 410 for a link that has ended. */
export function requireLive(link: Pick<ShareLink, 'revokedAt' | 'expiresAt' | 'isUsedUp'>, now: Date): void {
  if (link.revokedAt !== null) throw new AppError('share_link_revoked', 'The link has been revoked.');
  if (link.expiresAt <= now) throw new AppError('share_link_expired', 'The link has expired.');
  if (link.isUsedUp) throw new AppError('share_link_used_up', 'The link has been opened as often as it may be.');
}

/** What a link shows: the fields that are named here, and nothing else of vehicle or position. */
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

/** A share page shows no validity: a terminal that never had a fix is nowhere yet, and not at 0, 0. */
export const somewhere = (location: LastLocation | null): LastLocation | null =>
  location !== null && isNowhere(location, location.gpsValid) ? null : location;

/** True for 0, 0 without a fix. */
export const isNowhere = (
  { latitude, longitude }: { readonly latitude?: unknown; readonly longitude?: unknown },
  gpsValid: unknown,
): boolean => latitude === 0 && longitude === 0 && gpsValid === false;

/** The way since a moment, up to the newest position, which the history may not have yet. */
function trackResponseSchema({ points }: Track, seen: LastLocation, sinceMs: number): [number, number, number][] {
  const response = points.filter(([, , atMs]) => atMs >= sinceMs && atMs < seen.timestamp);
  const newest = [seen.latitude, seen.longitude, seen.timestamp] as const;
  return [...response, ...(seen.timestamp >= sinceMs ? [newest] : [])].map(([lat, lng, atMs]) => [lat, lng, atMs]);
}

/** Roads are so much longer than the straight line. */
const detour = 1.3;
const usualSpeedKmh = 40;

/** An estimate for who waits: the straight line with a detour, as fast as the vehicle has come along lately; without that, at the present speed or what is usual in towns, whichever is faster. */
export function etaMs(
  from: Pick<LastLocation, 'latitude' | 'longitude' | 'speed'>,
  to: { readonly latitude: number; readonly longitude: number },
  nowMs: number,
  paceKmh: number | null = null,
): number {
  const km = (detour * distanceM([from.latitude, from.longitude], [to.latitude, to.longitude])) / 1_000;
  return nowMs + Math.round((km / (paceKmh ?? Math.max(from.speed, usualSpeedKmh))) * 3_600_000);
}
