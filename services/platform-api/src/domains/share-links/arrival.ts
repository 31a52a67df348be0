import { minuteMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { readTrack } from '../positions/read-track.ts';
import { estimateArrivalMs, estimateRoadKm } from './rules.ts';
import type { ShareLink } from './schema.ts';

/** The pace for the estimated arrival is computed from the last minutes, even if no track is returned. */
export const paceMinutes = 15;
/** The pace is read again at most that often. */
const paceLifetimeMs = minuteMs;
/** Positions arrive each second; the estimate changes slowly. */
const estimateIntervalMs = 5_000;

/** When a shared vehicle arrives, and how far it still has to go. */
interface Arrival {
  readonly eta: string;
  readonly distance_km: number;
}

type Place = Pick<LastLocation, 'latitude' | 'longitude' | 'speed'>;

/** Estimates the arrival of one shared vehicle while it moves. */
export class ArrivalEstimator {
  readonly #deps: Pick<Deps, 'database' | 'thresholds' | 'log'>;
  readonly #link: ShareLink;
  #paceKmh: number | null = null;
  #paceReadAtMs = Number.NEGATIVE_INFINITY;
  #estimatedAtMs = Number.NEGATIVE_INFINITY;

  constructor(deps: Pick<Deps, 'database' | 'thresholds' | 'log'>, link: ShareLink) {
    this.#deps = deps;
    this.#link = link;
  }

  /** Returns the arrival from a position; null without a destination, or if the last estimate is recent. */
  async estimate(place: Place, nowMs = Date.now()): Promise<Arrival | null> {
    const { destination, permissions } = this.#link;
    if (destination === null || !permissions.includes('location')) return null;
    if (nowMs - this.#estimatedAtMs < estimateIntervalMs) return null;
    this.#estimatedAtMs = nowMs;
    const paceKmh = await this.#findPace(nowMs);
    return {
      eta: new Date(estimateArrivalMs(place, destination, nowMs, paceKmh)).toISOString(),
      distance_km: Math.round(estimateRoadKm(place, destination) * 10) / 10,
    };
  }

  /** Returns the recent pace; the last known one while the history is unavailable. */
  async #findPace(nowMs: number): Promise<number | null> {
    if (nowMs - this.#paceReadAtMs < paceLifetimeMs) return this.#paceKmh;
    this.#paceReadAtMs = nowMs;
    const { vehicleId } = this.#link;
    try {
      const window = { fromMs: nowMs - paceMinutes * minuteMs, toMs: nowMs };
      this.#paceKmh = (await readTrack(this.#deps, vehicleId, window)).paceKmh;
    } catch (error) {
      this.#deps.log.warn({ err: error, vehicleId }, 'could not read the pace of a shared vehicle');
    }
    return this.#paceKmh;
  }
}
