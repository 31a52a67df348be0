import { distanceM, unwrapLongitude } from '../../geometry/positions.ts';
import type { Area } from './area.ts';

/** Places are looked at until they are so close together, or there are so many. */
const finestM = 1;
const finestPart = 1 / 4_096;
/** Distances are measured on flat maps, each around its own place: a little is added where they must not be too large. */
const slack = 1.1;

/** True when the straight way between two positions leads so deep into an area that a fix there would have been inside. */
export function leadsThrough(area: Area, fromLat: number, fromLng: number, toLat: number, toLng: number): boolean {
  const dLng = unwrapLongitude(toLng, fromLng) - fromLng;
  const dLat = toLat - fromLat;
  for (let turn = -360; turn <= 360; turn += 360) {
    const part = partWithin(area, fromLat, fromLng + turn, dLat, dLng);
    if (part === null) continue;
    const [start, end] = part;
    const [lat1, lng1] = [fromLat + start * dLat, fromLng + turn + start * dLng];
    const [lat2, lng2] = [fromLat + end * dLat, fromLng + turn + end * dLng];
    const lengthM = distanceM([lat1, lng1], [lat2, lng2]);
    if (isDeep(area, lat1, lng1, lat2, lng2, lengthM, Math.max(finestM, lengthM * finestPart))) return true;
  }
  return false;
}

/** Which part of a way, 0 to 1, lies within the bounds of an area (Liang and Barsky); null: none. */
function partWithin(
  { bounds }: Area,
  latitude: number,
  longitude: number,
  dLat: number,
  dLng: number,
): readonly [number, number] | null {
  const byLat = partBetween(latitude, dLat, bounds.minLat, bounds.maxLat);
  const byLng = partBetween(longitude, dLng, bounds.minLng, bounds.maxLng);
  if (byLat === null || byLng === null) return null;
  const [start, end] = [Math.max(byLat[0], byLng[0]), Math.min(byLat[1], byLng[1])];
  return start <= end ? [start, end] : null;
}

function partBetween(start: number, change: number, min: number, max: number): readonly [number, number] | null {
  if (change === 0) return start >= min && start <= max ? [0, 1] : null;
  const [one, other] = [(min - start) / change, (max - start) / change];
  const [first, last] = [Math.max(0, Math.min(one, other)), Math.min(1, Math.max(one, other))];
  return first <= last ? [first, last] : null;
}

/** Looks in the middle, then in both halves. No place is deeper than another by more than the way between them. */
function isDeep(
  area: Area,
  lat1: number,
  lng1: number,
  lat2: number,
  lng2: number,
  lengthM: number,
  untilM: number,
): boolean {
  const [latitude, longitude] = [(lat1 + lat2) / 2, (lng1 + lng2) / 2];
  const depthM = area.depthM(latitude, longitude);
  if (depthM >= area.innerM) return true;
  if (lengthM <= untilM || depthM + (lengthM / 2) * slack < area.innerM) return false;
  return (
    isDeep(area, lat1, lng1, latitude, longitude, lengthM / 2, untilM) ||
    isDeep(area, latitude, longitude, lat2, lng2, lengthM / 2, untilM)
  );
}
