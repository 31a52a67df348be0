import { describe, expect, it } from '@jest/globals';
import { queueReplay, type ReplayDeps } from './replay.ts';

type Records = ReplayDeps['records'];

/** Records with this many matching deliveries. */
function createFakeRepository(count: number) {
  const requestedLimits: number[] = [];
  const batches: Parameters<Records['replays']['insert']>[0][number][] = [];
  const records: Records = {
    deliveries: {
      findIds: async (_webhookId, _span, limit) => {
        requestedLimits.push(limit);
        return Array.from({ length: Math.min(count, limit) }, (_unused, at) => `d${at}`);
      },
    },
    replays: { insert: async (added) => void batches.push(...added) },
  };
  return { records, requestedLimits, batches };
}

describe('a replay (docs/reference/webhooks.md)', () => {
  const replay = { webhookId: 3, sinceMs: 0, untilMs: null, statuses: ['failed', 'skipped'] as const };

  it('covers at most 10,000 deliveries, ten a second, in order of creation', async () => {
    const { records, requestedLimits, batches } = createFakeRepository(10_004);
    expect(await queueReplay({ records, replayPerSecond: 10 }, replay)).toBe(10_000);
    expect(requestedLimits).toEqual([10_000]);
    expect(batches).toHaveLength(1_000);
    expect(batches.every(({ deliveryIds }) => deliveryIds.length === 10)).toBe(true);
    expect(batches.flatMap(({ deliveryIds }) => deliveryIds)).toEqual(
      Array.from({ length: 10_000 }, (_unused, at) => `d${at}`),
    );
    const [first] = batches;
    expect(batches.map(({ dueAtMs }) => dueAtMs - (first?.dueAtMs ?? 0))).toEqual(
      Array.from({ length: 1_000 }, (_unused, at) => at * 1_000),
    );
    expect(new Set(batches.map(({ _id }) => _id)).size).toBe(1_000);
  });

  it('stores nothing without matching deliveries', async () => {
    const { records, batches } = createFakeRepository(0);
    expect(await queueReplay({ records, replayPerSecond: 10 }, replay)).toBe(0);
    expect(batches).toEqual([]);
  });
});
