import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';

let harness: ProductHarness;
beforeAll(async () => {
  harness = await joinSharedHarness();
}, 120_000);
afterAll(() => harness?.stop(), 60_000);

it('docs/reference/metrics.md lists the metrics of all processes: run node scripts/metrics-table.mjs', () => {
  const program = `
    const { describeProduct } = await import('./scripts/metrics-table.mjs');
    process.stdout.write(await describeProduct(${JSON.stringify(harness.product.runtime.health)}));`;
  const generated = execFileSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(readFileSync('docs/reference/metrics.md', 'utf8')).toBe(generated);
});
