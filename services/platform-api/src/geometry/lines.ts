import { degreeM, distanceM, normalizeLongitude, type Position, toRadians, unwrapLongitude } from './positions.ts';

/** Returns the length of a line. */
export function lineLengthM(line: readonly Position[]): number {
  let sum = 0;
  for (let at = 1; at < line.length; at += 1) sum += distanceM(line[at - 1] as Position, line[at] as Position);
  return sum;
}

/** The point of a line that is nearest to a position. */
interface NearestPoint {
  readonly position: Position;
  /** Distance from the given position. */
  readonly distanceM: number;
  /** Distance from the start of the line. */
  readonly alongM: number;
  /** Index of the point of the line at which the segment begins. */
  readonly segment: number;
}

/**
 * Returns the nearest point of a segment, with its share of the segment's length, 0 to 1. Uses flat geometry around the
 * position, which is accurate for segments up to some hundred kilometres.
 */
export function nearestOnSegment(
  position: Position,
  from: Position,
  to: Position,
): { readonly part: number; readonly position: Position; readonly distanceM: number } {
  const [latitude, longitude] = position;
  const scale = Math.cos(toRadians(latitude));
  const x = (lng: number): number => (unwrapLongitude(lng, longitude) - longitude) * scale;
  const [ax, ay] = [x(from[1]), from[0] - latitude];
  // Relative to the start of the segment, so that a segment across the date line stays continuous.
  const dx = (unwrapLongitude(to[1], from[1]) - from[1]) * scale;
  const dy = to[0] - from[0];
  const square = dx * dx + dy * dy;
  const part = square === 0 ? 0 : Math.max(0, Math.min(1, -(ax * dx + ay * dy) / square));
  const [px, py] = [ax + part * dx, ay + part * dy];
  const nearest: Position = [
    from[0] + part * dy,
    normalizeLongitude(from[1] + part * (unwrapLongitude(to[1], from[1]) - from[1])),
  ];
  return { part, position: nearest, distanceM: Math.hypot(px, py) * degreeM };
}

/** Returns the nearest point of a line of at least one point, or null for an empty line. */
export function nearestOnLine(position: Position, line: readonly Position[]): NearestPoint | null {
  const first = line[0];
  if (first === undefined) return null;
  let best: NearestPoint = { position: first, distanceM: distanceM(position, first), alongM: 0, segment: 0 };
  let startM = 0;
  for (let at = 1; at < line.length; at += 1) {
    const [from, to] = [line[at - 1] as Position, line[at] as Position];
    const segmentM = distanceM(from, to);
    const found = nearestOnSegment(position, from, to);
    if (found.distanceM < best.distanceM)
      best = {
        position: found.position,
        distanceM: found.distanceM,
        alongM: startM + found.part * segmentM,
        segment: at - 1,
      };
    startM += segmentM;
  }
  return best;
}

/** Repeats the point of a line with one point, because a route has at least two. */
export const bothEnds = (line: readonly Position[]): readonly Position[] =>
  line.length === 1 ? [...line, ...line] : line;

/** Joins lines. Omits the first point of a line if it equals the end of the previous one. */
export function joinLines(lines: readonly (readonly Position[])[]): Position[] {
  const all: Position[] = [];
  for (const line of lines)
    for (const position of line) {
      const last = all.at(-1);
      if (last === undefined || last[0] !== position[0] || last[1] !== position[1]) all.push(position);
    }
  return all;
}
