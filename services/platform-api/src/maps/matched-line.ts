import { joinLines } from '../geometry/lines.ts';
import type { Position } from '../geometry/positions.ts';
import type { MatchedPoint } from './providers.ts';

/**
 * Returns the line of a matched trace along the road. It includes points without a road only where no road leads past
 * them.
 */
export function lineOf(points: readonly MatchedPoint[]): Position[] {
  const lines: (readonly Position[])[] = [];
  let off: Position[] = [];
  for (const { isMatched, position, leg } of points) {
    if (!isMatched) {
      off.push(position);
      continue;
    }
    if (leg.length <= 1) lines.push(off);
    lines.push(leg);
    off = [];
  }
  return joinLines([...lines, off]);
}
