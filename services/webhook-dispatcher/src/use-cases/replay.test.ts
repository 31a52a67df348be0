import { describe, expect, it } from '@jest/globals';
import { queueReplay, type ReplayDeps } from './replay.ts';

type Records = ReplayDeps['records'];

/** Records with this many matching deliveries. */
function recordsOf(count: number) {
  const asked: number[] = [];
  const parts: Parameters<Records['insertReplay']>[0][number][] = [];
  const records: Records = {
    findIds: async (_webhookId, _span, limit) => {
      asked.push(limit);
      return Array.from({ length: Math.min(count, limit) }, (_unused, at) => `d${at}`);
    },
    insertReplay: async (added) => void parts.push(...added),
  };
  return { records, asked, parts };
}

describe('a replay (platform-contract.md, section 15.1)', () => {
  const replay = { webhookId: 3, sinceMs: 0, untilMs: null, statuses: ['failed', 'skipped'] as const };

  it('covers at most 10,000 deliveries, ten a second, in order of creation', async () => {
    const { records, asked, parts } = recordsOf(10_004);
    expect(await queueReplay({ records, replayPerSecond: 10 }, replay)).toBe(10_000);
    expect(asked).toEqual([10_000]);
    expect(parts).toHaveLength(1_000);
    expect(parts.every(({ deliveryIds }) => deliveryIds.length === 10)).toBe(true);
    expect(parts.flatMap(({ deliveryIds }) => deliveryIds)).toEqual(
      Array.from({ length: 10_000 }, (_unused, at) => `d${at}`),
    );
    const [first] = parts;
    expect(parts.map(({ dueAtMs }) => dueAtMs - (first?.dueAtMs ?? 0))).toEqual(
      Array.from({ length: 1_000 }, (_unused, at) => at * 1_000),
    );
    expect(new Set(parts.map(({ _id }) => _id)).size).toBe(1_000);
  });

  it('stores nothing without matching deliveries', async () => {
    const { records, parts } = recordsOf(0);
    expect(await queueReplay({ records, replayPerSecond: 10 }, replay)).toBe(0);
    expect(parts).toEqual([]);
  });
});
