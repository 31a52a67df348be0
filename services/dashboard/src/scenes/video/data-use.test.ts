import { describe, expect, it } from '@jest/globals';
import { formatBytes, sumUsage } from './data-use.ts';

const usage = (bytes: number, budgetBytes: number | null) => ({
  vehicle_id: 1,
  month: '2026-11',
  bytes,
  picture_bytes: 10,
  upload_bytes: 5,
  channels: [],
  budget: budgetBytes === null ? null : { bytes: budgetBytes, used_percent: 1, over_budget: 'notify' as const },
});

describe('the data use of a wall', () => {
  it('is the sum of its vehicles, with a budget if each of them has one', () => {
    expect(sumUsage([usage(100, 1_000), usage(200, 2_000), undefined])).toEqual({ usedBytes: 330, budgetBytes: 3_000 });
    expect(sumUsage([usage(100, 1_000), usage(200, null)])).toEqual({ usedBytes: 330, budgetBytes: null });
    expect(sumUsage([])).toEqual({ usedBytes: 0, budgetBytes: null });
  });

  it('is shown in the largest unit that fits', () => {
    expect([0, 999, 412_300, 1_234_567, 20_000_000_000].map((size) => formatBytes(size, 'en'))).toEqual([
      '0 byte',
      '999 byte',
      '412 kB',
      '1.2 MB',
      '20 GB',
    ]);
  });
});
