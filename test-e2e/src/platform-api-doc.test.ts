import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type RunningProduct, startProduct } from '@fleet/local/product';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { consoleSteps, lasting, runInShell } from './testing/console-blocks.ts';

const text = readFileSync(resolve('docs/platform-api.md'), 'utf8');

describe('docs/platform-api.md', () => {
  let product: RunningProduct;
  beforeAll(async () => {
    // As npm start does, but for the ports and the folder.
    product = await startProduct({ simulator: true });
  }, 180_000);
  afterAll(() => product?.stop(), 60_000);

  it('shows what its commands really print, one after the other', async () => {
    const steps = consoleSteps(text);
    expect(steps.length).toBeGreaterThan(40);
    const commands = steps.map(({ command }) =>
      command
        .replace('http://127.0.0.1:8080', product.runtime.base_url)
        .replace('=.data/', `=${product.runtime.data_dir}/`),
    );
    const printed = await runInShell(commands, 150_000);
    expect(steps.map(({ command }, at) => ({ command, prints: lasting(printed[at] ?? 'not run') }))).toEqual(
      steps.map(({ command, output }) => ({ command, prints: lasting(output) })),
    );
  }, 180_000);
});
