// The location history of `lists.mjs`.
import { dayMs, insertAll } from './lists-account.mjs';

const bucketMs = 600_000;

/** Returns the points of a bucket, which alternate between half an hour of driving and half an hour of rest. */
function pointsOf(bucket) {
  const isMoving = Math.floor(bucket / 3) % 2 === 0;
  const entries = Array.from({ length: 20 }, (_none, at) => {
    const step = isMoving ? bucket * 20 + at : Math.floor(bucket / 3) * 60;
    return [`${at * 30_000}-h${at}`, `${22_500_000 + step * 2_000},114000000,${isMoving ? 40 : 0},90,5,500,10,9`];
  });
  return Object.fromEntries(entries);
}

/** Inserts one report every 30 seconds for ten hours of each day. */
export async function fillHistory({ db, accountId, first, imeiOf, sizes, nowMs }) {
  const ids = Array.from({ length: sizes.historyVehicles }, (_none, at) => first + at);
  const today = Math.floor(nowMs / dayMs) * dayMs;
  const startsMs = Array.from({ length: 60 }, (_none, at) => 6 * 3_600_000 + at * bucketMs);
  const points = startsMs.map((_none, bucket) => pointsOf(bucket));
  for (const [index, vehicleId] of ids.entries()) {
    const imei = imeiOf(index);
    const dates = Array.from({ length: sizes.historyDays }, (_none, at) => today - (at + 1) * dayMs);
    await insertAll(db.collection('position_buckets'), dates.length * startsMs.length, (at) => {
      const bucket = at % startsMs.length;
      const startMs = dates[Math.floor(at / startsMs.length)] + startsMs[bucket];
      const _id = `${imei}:${vehicleId}:${new Date(startMs).toISOString().slice(0, 16)}`;
      return { _id, vehicleId, accountId, imei, points: points[bucket] };
    });
    const kinds = dates.map((ms) => [`${new Date(ms).toISOString().slice(0, 10)}:${imei}`, 'full']);
    await db
      .collection('position_days')
      .insertOne({ _id: String(vehicleId), vehicleId, accountId, days: Object.fromEntries(kinds) });
  }
}
