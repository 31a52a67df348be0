import { area } from '@turf/area';
import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { distance } from '@turf/distance';
import { pointToLineDistance } from '@turf/point-to-line-distance';

/**
 * An independent implementation of the rules of docs/reference/areas.md for crossings, without code of the rule. It
 * uses turf for inside and outside, and decides each fix from the whole track before it.
 */

/** Metres east and north of the centre. */
export type Spot = readonly [east: number, north: number];

export interface OracleShape {
  readonly type: 'polygon' | 'circle' | 'corridor';
  readonly spots: readonly Spot[];
  /** Radius of a circle, half the width of a corridor. */
  readonly reachM: number;
}

export interface OracleFix {
  readonly spot: Spot;
  readonly ms: number;
}

interface OracleEvent {
  readonly event: 'enter' | 'exit' | 'dwell';
  readonly ms: number;
}

type Side = 'in' | 'edge' | 'out';

const degreeM = (Math.PI * 6_371_008.8) / 180;
const metres = { units: 'meters' } as const;
const margin = 10;
/** Near a border, within this distance, the two may differ because of their different measurements. */
const doubtM = 0.4;
const sampleM = 3;
const nearM = 60;

/** One area at a latitude, measured with turf. Its coordinates for turf are near the meridian of Greenwich. */
export class OracleArea {
  readonly shape: OracleShape;
  readonly innerM: number;
  readonly #latitude: number;
  readonly #closed: readonly Spot[];
  readonly #line: { type: 'LineString'; coordinates: number[][] };
  readonly #depths = new Map<Spot, number>();
  readonly #ways = new Map<string, number>();

  constructor(shape: OracleShape, latitude: number) {
    this.shape = shape;
    this.#latitude = latitude;
    this.#closed = shape.type === 'polygon' ? [...shape.spots, ...shape.spots.slice(0, 1)] : shape.spots;
    const coordinates = this.#closed.map((spot) => this.#lngLat(spot));
    this.#line = { type: 'LineString', coordinates };
    this.innerM = Math.min(margin, this.#innerM(coordinates));
  }

  #lngLat([east, north]: Spot): [number, number] {
    return [east / (degreeM * Math.cos((this.#latitude * Math.PI) / 180)), this.#latitude + north / degreeM];
  }

  #innerM(coordinates: number[][]): number {
    if (this.shape.type !== 'polygon') return this.shape.reachM / 2;
    const sides = coordinates.slice(1).map((to, at) => distance(coordinates[at] ?? [], to, metres));
    return area({ type: 'Polygon', coordinates: [coordinates] }) / 2 / sides.reduce((sum, side) => sum + side, 0);
  }

  /** Returns the distance in metres from the edge, negative outside. */
  depthM(spot: Spot): number {
    const depthM = this.#depths.get(spot) ?? this.#measuredM(spot);
    this.#depths.set(spot, depthM);
    return depthM;
  }

  #measuredM(spot: Spot): number {
    const point = this.#lngLat(spot);
    const [first] = this.#line.coordinates;
    if (this.shape.type === 'circle') return this.shape.reachM - distance(point, first ?? [], metres);
    const flatM = this.#flatAwayM(spot);
    // The geodesic measurement is slow, and far from all borders it does not matter.
    const isNear = Math.abs(flatM - this.shape.reachM) < nearM;
    const awayM = isNear ? pointToLineDistance(point, this.#line, { ...metres, method: 'geodesic' }) : flatM;
    if (this.shape.type === 'corridor') return this.shape.reachM - awayM;
    const isIn = booleanPointInPolygon(point, { type: 'Polygon', coordinates: [this.#line.coordinates] });
    return isIn ? awayM : -awayM;
  }

  side(spot: Spot): Side {
    const depthM = this.depthM(spot);
    return depthM >= this.innerM ? 'in' : depthM <= -margin ? 'out' : 'edge';
  }

  /** Returns true if either result is correct for a fix at this position. */
  isDoubtful(spot: Spot): boolean {
    const depthM = this.depthM(spot);
    return [this.innerM, 0, -margin].some((border) => Math.abs(depthM - border) < doubtM);
  }

  /**
   * Returns the greatest depth of the path between two fixes. Samples positions a few metres apart near the area, on a
   * flat map.
   */
  deepestM(from: Spot, to: Spot): number {
    const way = [...from, ...to].join();
    const deepestM = this.#ways.get(way) ?? this.#sampledM(from, to);
    this.#ways.set(way, deepestM);
    return deepestM;
  }

  #sampledM(from: Spot, to: Spot): number {
    const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
    const lengthM = Math.hypot(dx, dy);
    let deepest = Number.NEGATIVE_INFINITY;
    for (let alongM = 0; ; ) {
      const part = lengthM === 0 ? 0 : Math.min(1, alongM / lengthM);
      const depthM = this.#flatDepthM([from[0] + part * dx, from[1] + part * dy]);
      deepest = Math.max(deepest, depthM);
      if (alongM >= lengthM) break;
      // No position before that distance can be deep enough.
      alongM += Math.max(sampleM, this.innerM - sampleM - depthM);
    }
    return deepest;
  }

  #flatAwayM(spot: Spot): number {
    const closed = this.#closed;
    let awayM = Math.min(...closed.map(([x, y]) => Math.hypot(x - spot[0], y - spot[1])));
    for (let at = 1; at < closed.length; at += 1)
      awayM = Math.min(awayM, besideM(spot, closed[at - 1] ?? spot, closed[at] ?? spot));
    return awayM;
  }

  #flatDepthM(spot: Spot): number {
    const awayM = this.#flatAwayM(spot);
    if (this.shape.type !== 'polygon') return this.shape.reachM - awayM;
    return isAround(this.#closed, spot) ? awayM : -awayM;
  }

  isDoubtfulWay(from: Spot, to: Spot): boolean {
    if (this.side(from) === 'in' || this.side(to) === 'in') return false;
    const deepest = this.deepestM(from, to);
    return deepest > this.innerM - sampleM / 2 - doubtM && deepest < this.innerM + doubtM;
  }
}

/** Returns the distance to a segment, or infinity if the nearest point of its line is outside the segment. */
function besideM(spot: Spot, from: Spot, to: Spot): number {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const lengthM = Math.hypot(dx, dy);
  if (lengthM === 0) return Number.POSITIVE_INFINITY;
  const alongM = ((spot[0] - from[0]) * dx + (spot[1] - from[1]) * dy) / lengthM;
  if (alongM < 0 || alongM > lengthM) return Number.POSITIVE_INFINITY;
  return Math.abs((spot[0] - from[0]) * dy - (spot[1] - from[1]) * dx) / lengthM;
}

/** Returns true if the position is inside: seen from there, the corners of a ring go around once. */
function isAround(closed: readonly Spot[], [x, y]: Spot): boolean {
  let turned = 0;
  for (let at = 1; at < closed.length; at += 1) {
    const [[x1, y1], [x2, y2]] = [closed[at - 1] ?? [x, y], closed[at] ?? [x, y]];
    const turn = Math.atan2(y2 - y, x2 - x) - Math.atan2(y1 - y, x1 - x);
    turned += turn > Math.PI ? turn - 2 * Math.PI : turn < -Math.PI ? turn + 2 * Math.PI : turn;
  }
  return Math.abs(turned) > Math.PI;
}

/** Returns the events of a track of valid fixes, in order. */
export function expectedEvents(
  place: OracleArea,
  fixes: readonly OracleFix[],
  dwellSeconds: number | null,
): OracleEvent[] {
  const [first] = fixes;
  if (first === undefined) return [];
  const sides = fixes.map(({ spot }) => place.side(spot));
  const events: OracleEvent[] = [];
  let isInside = place.depthM(first.spot) >= 0;
  let insideSince = first.ms;
  let hasDwelt = false;
  // Index of the last fix that has been decided.
  let judged = 0;
  for (let at = 1; at < fixes.length; at += 1) {
    const [last, fix] = fixes.slice(at - 1, at + 1);
    if (last === undefined || fix === undefined) break;
    const { ms, spot } = fix;
    const [oldSide, newSide] = isInside ? ['in', 'out'] : ['out', 'in'];
    const sinceOld = Math.max(judged, sides.slice(0, at + 1).lastIndexOf(oldSide as Side));
    const there = fixes.slice(sinceOld + 1, at + 1).filter((_fix, i) => sides[sinceOld + 1 + i] === newSide);
    const before = Math.max(judged, sides.slice(0, at).lastIndexOf(oldSide as Side));
    const wasTurning = sides.slice(before + 1, at).includes(newSide as Side);
    const turn = there[0];
    if (turn !== undefined && (there.length >= 2 || ms - turn.ms >= 20_000)) {
      events.push({ event: isInside ? 'exit' : 'enter', ms: turn.ms });
      isInside = !isInside;
      [insideSince, hasDwelt, judged] = [turn.ms, false, at];
    } else if (!isInside && !wasTurning && sides[at] !== 'in') {
      if (place.deepestM(last.spot, spot) >= place.innerM) events.push({ event: 'enter', ms }, { event: 'exit', ms });
    }
    const isLeaving = turn !== undefined && judged !== at;
    if (isInside && !isLeaving && !hasDwelt && dwellSeconds !== null && ms - insideSince >= dwellSeconds * 1_000) {
      events.push({ event: 'dwell', ms });
      hasDwelt = true;
    }
  }
  return events;
}
