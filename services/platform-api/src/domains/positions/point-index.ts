import { terminalKey } from '@fleet/jt808';
import type { NewPoint } from './schema.ts';

type ReportKey = Pick<NewPoint['position'], 'imei' | 'timestamp'>;

const indexKey = ({ imei, timestamp }: ReportKey, hash: string): string => `${terminalKey(imei)}:${timestamp}:${hash}`;

/**
 * Finds reports among points that are about to be stored, including those added to the lists later. The index is built
 * on the first call of `has`.
 */
export class PointIndex {
  readonly #lists: readonly (readonly NewPoint[])[];
  /** Number of indexed points of each list. */
  readonly #counts: number[];
  readonly #known = new Set<string>();

  constructor(...lists: readonly (readonly NewPoint[])[]) {
    this.#lists = lists;
    this.#counts = lists.map(() => 0);
  }

  has(position: ReportKey, hash: string): boolean {
    for (const [which, points] of this.#lists.entries()) {
      for (const point of points.slice(this.#counts[which])) this.#known.add(indexKey(point.position, point.hash));
      this.#counts[which] = points.length;
    }
    return this.#known.has(indexKey(position, hash));
  }
}
