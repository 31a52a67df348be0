import type { Collection } from './mongo.ts';
import type { DeliveryBucket, DeliveryRecord, DeliveryStats, DeliveryStatus } from './webhook-types.ts';

/** Newest deliveries whose attempts are read for percentiles. */
const sampleSize = 5_000;

/** Returns statistics of a webhook's deliveries created since a time. */
export async function computeDeliveryStats(
  deliveries: Collection<DeliveryRecord>,
  webhookId: number,
  sinceMs: number,
): Promise<DeliveryStats> {
  const query = { webhookId, createdAtMs: { $gte: sinceMs } };
  const count = (status: DeliveryStatus): Promise<number> => deliveries.countDocuments({ ...query, status });
  const [total, succeeded, failed, skipped, pending] = await Promise.all([
    deliveries.countDocuments(query),
    count('succeeded'),
    count('failed'),
    count('skipped'),
    count('pending'),
  ]);
  const sample = await deliveries
    .find(query, { projection: { 'attempts.durationMs': 1 } })
    .sort({ number: -1 })
    .limit(sampleSize)
    .toArray();
  const durations = sample
    .flatMap(({ attempts }) => attempts.map(({ durationMs }) => durationMs))
    .toSorted((a, b) => a - b);
  return {
    total,
    succeeded,
    failed,
    skipped,
    pending,
    successRate: succeeded + failed === 0 ? null : succeeded / (succeeded + failed),
    p50Ms: percentile(durations, 0.5),
    p95Ms: percentile(durations, 0.95),
  };
}

/** Returns the numbers of ended deliveries by the time of their creation, in equal parts of a time span. */
export function computeDeliverySeries(
  deliveries: Collection<DeliveryRecord>,
  webhookId: number,
  { sinceMs, untilMs, buckets }: { sinceMs: number; untilMs: number; buckets: number },
): Promise<DeliveryBucket[]> {
  const widthMs = (untilMs - sinceMs) / buckets;
  const startOf = (index: number): number => Math.round(sinceMs + index * widthMs);
  const countBucket = async (_unused: unknown, index: number): Promise<DeliveryBucket> => {
    const createdAtMs = { $gte: startOf(index), $lt: startOf(index + 1) };
    const count = (status: DeliveryStatus): Promise<number> =>
      deliveries.countDocuments({ webhookId, createdAtMs, status });
    const [succeeded, failed, skipped] = await Promise.all([count('succeeded'), count('failed'), count('skipped')]);
    return { fromMs: startOf(index), succeeded, failed, skipped };
  };
  return Promise.all(Array.from({ length: buckets }, countBucket));
}

/** Returns the nearest-rank percentile of sorted numbers. */
const percentile = (sorted: readonly number[], fraction: number): number | null =>
  sorted[Math.max(0, Math.ceil(sorted.length * fraction) - 1)] ?? null;
