import type { Deps } from '../../deps.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { isFix } from './fixes.ts';
import type { Point, VehicleDays } from './schema.ts';
import { dayKey, daysOf, readDay, removeDay, thinDay } from './store.ts';

type Parts = Pick<Deps, 'database' | 'records' | 'config'>;

const dayMs = 86_400_000;
const slotMs = 300_000;

/** What one turn does at most: vehicles that it looks at, and how long it goes on with changes. Other sweeps, and a stop, wait for it. */
const maxVehicles = 1_000;
const longestTurnMs = 20_000;
/** Days are kept, not hours: once all vehicles were looked at, nobody looks again for so long. */
const restMs = 3_600_000;

/** Where the next turn goes on: `_id` is `positions`. */
interface Progress {
  readonly _id: string;
  readonly nextVehicleId: number;
  /** When all vehicles had been looked at. */
  readonly endedMs?: number;
}

/**
 * Thins the history that is older than the account keeps it whole, and removes what is older than any is kept; a part of the vehicles at a time, and from the
 * beginning some time after the last. It goes by ids, so that vehicles that are deleted are among them.
 */
export async function sweepPositions(deps: Parts, nowMs = Date.now(), turnMs = longestTurnMs): Promise<void> {
  const progress = deps.database.collection<Progress>('position_sweeps');
  const known = await progress.findOne({ _id: 'positions' });
  const firstId = known?.nextVehicleId ?? 1;
  if (firstId === 1 && known?.endedMs !== undefined && Math.abs(nowMs - known.endedMs) < restMs) return;
  const counter = await deps.database
    .collection<{ _id: string; value: number }>('counters')
    .findOne({ _id: 'vehicles' });
  const lastId = counter?.value ?? 0;
  const wholeDays = daysByAccount(deps);
  const untilMs = performance.now() + turnMs;
  const isOver = (): boolean => performance.now() >= untilMs;
  let id = firstId;
  for (; id <= lastId && id < firstId + maxVehicles; id += 1) {
    const days = await daysOf(deps.database, id);
    if (days !== null && !(await sweepVehicle(deps, days, await wholeDays(days.accountId), nowMs, isOver))) break;
  }
  const next = id > lastId ? { nextVehicleId: 1, endedMs: nowMs } : { nextVehicleId: id };
  await progress.updateOne({ _id: 'positions' }, { $set: next }, { upsert: true });
}

/** False where the time is over: some of it may be left. */
async function sweepVehicle(
  deps: Parts,
  known: VehicleDays,
  wholeDays: number,
  nowMs: number,
  isOver: () => boolean,
): Promise<boolean> {
  const { LOCATIONS_KEPT_DAYS: keptDays } = deps.config;
  for (const [key, kind] of Object.entries(known.days)) {
    const { day, imei } = dayKey(key);
    const ageDays = (nowMs - Date.parse(day) - dayMs) / dayMs;
    if (ageDays > wholeDays + keptDays) await removeDay(deps.database, known, day, imei);
    else if (kind === 'full' && ageDays > wholeDays)
      await thinDay(deps.database, known, day, imei, thinned(await readDay(deps.database, known.vehicleId, day, imei)));
    else continue;
    // Behind a change, so that each turn comes further.
    if (isOver()) return false;
  }
  return true;
}

/** For how many days an account keeps all points; each is looked up once. */
function daysByAccount(deps: Parts): (accountId: number) => Promise<number> {
  const known = new Map<number, number>();
  return async (accountId) => {
    const days = known.get(accountId) ?? (await accountConfig(deps, { accountId })).retention.locations_days;
    known.set(accountId, days);
    return days;
  };
}

/** One point of each five minutes: the first that has a fix, or the first. */
export function thinned(points: readonly Point[]): Point[] {
  const slots = new Map<number, Point>();
  for (const point of points) {
    const slot = Math.floor(point.position.timestamp / slotMs);
    const known = slots.get(slot);
    if (known === undefined || (!isFix(known.position) && isFix(point.position))) slots.set(slot, point);
  }
  return [...slots.values()];
}
