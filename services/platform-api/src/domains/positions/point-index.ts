import { terminalKey } from '@fleet/jt808';
import type { NewPoint } from './schema.ts';

type LatestReadings = Pick<NewPoint['position'], 'imei' | 'timestamp'>;

const keyOf = ({ imei, timestamp }: LatestReadings, hash: string): string =>
  `${terminalKey(imei)}:${timestamp}:${hash}`;

/** Finds reports among points that are on their way into the history; those that are added to the lists meanwhile, too. Costs nothing until it is asked. */
export class PointIndex {
  readonly #lists: readonly (readonly NewPoint[])[];
  /** How many of each list are known. */
  readonly #counts: number[];
  readonly #known = new Set<string>();

  constructor(...lists: readonly (readonly NewPoint[])[]) {
    this.#lists = lists;
    this.#counts = lists.map(() => 0);
  }

  has(position: LatestReadings, hash: string): boolean {
    for (const [which, points] of this.#lists.entries()) {
      for (const point of points.slice(this.#counts[which])) this.#known.add(keyOf(point.position, point.hash));
      this.#counts[which] = points.length;
    }
    return this.#known.has(keyOf(position, hash));
  }
}
