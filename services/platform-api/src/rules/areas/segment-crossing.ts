import { distanceM, unwrapLongitude } from '../../geometry/positions.ts';
import type { Area } from './area.ts';

/** Resolution and limit of the sampled points. */
const finestM = 1;
const finestPart = 1 / 4_096;
/** Distances are measured on flat maps around each point; a small tolerance is added. */
const tolerance = 1.1;

/** Returns true if the segment between two positions is so deep in an area that a fix there would be inside. */
export function segmentCrosses(area: Area, fromLat: number, fromLng: number, toLat: number, toLng: number): boolean {
  const dLng = unwrapLongitude(toLng, fromLng) - fromLng;
  const dLat = toLat - fromLat;
  for (let turn = -360; turn <= 360; turn += 360) {
    const part = clipToBounds(area, fromLat, fromLng + turn, dLat, dLng);
    if (part === null) continue;
    const [start, end] = part;
    const [lat1, lng1] = [fromLat + start * dLat, fromLng + turn + start * dLng];
    const [lat2, lng2] = [fromLat + end * dLat, fromLng + turn + end * dLng];
    const lengthM = distanceM([lat1, lng1], [lat2, lng2]);
    if (reachesInside(area, lat1, lng1, lat2, lng2, lengthM, Math.max(finestM, lengthM * finestPart))) return true;
  }
  return false;
}

/** Returns the part of a segment, 0 to 1, within the bounds of an area (Liang and Barsky), or null. */
function clipToBounds(
  { bounds }: Area,
  latitude: number,
  longitude: number,
  dLat: number,
  dLng: number,
): readonly [number, number] | null {
  const byLat = clipToRange(latitude, dLat, bounds.minLat, bounds.maxLat);
  const byLng = clipToRange(longitude, dLng, bounds.minLng, bounds.maxLng);
  if (byLat === null || byLng === null) return null;
  const [start, end] = [Math.max(byLat[0], byLng[0]), Math.min(byLat[1], byLng[1])];
  return start <= end ? [start, end] : null;
}

function clipToRange(start: number, change: number, min: number, max: number): readonly [number, number] | null {
  if (change === 0) return start >= min && start <= max ? [0, 1] : null;
  const [one, other] = [(min - start) / change, (max - start) / change];
  const [first, last] = [Math.max(0, Math.min(one, other)), Math.min(1, Math.max(one, other))];
  return first <= last ? [first, last] : null;
}

/** Checks the middle, then both halves: depths of two points differ at most by their distance. */
function reachesInside(
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
  if (lengthM <= untilM || depthM + (lengthM / 2) * tolerance < area.innerM) return false;
  return (
    reachesInside(area, lat1, lng1, latitude, longitude, lengthM / 2, untilM) ||
    reachesInside(area, latitude, longitude, lat2, lng2, lengthM / 2, untilM)
  );
}
