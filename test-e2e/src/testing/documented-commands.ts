import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type RunningProduct, startProduct } from '@fleet/local/product';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { maskVolatile, parseConsoleSteps, runInShell } from './console-blocks.ts';

/** What a document with commands is checked for. */
export interface DocumentedCommands {
  /** Below the root of the checkout. */
  readonly document: string;
  /** Fewer steps than that mean that the document was not read as it is written. */
  readonly minSteps: number;
  readonly timeoutMs: number;
}

/** Runs the commands of a document against a product as `npm start` makes it, but for ports and folder: they print what the document says. */
export function describeDocumentedCommands({ document, minSteps, timeoutMs }: DocumentedCommands): void {
  describe(`the commands of ${document}`, () => {
    let product: RunningProduct;
    beforeAll(async () => {
      product = await startProduct({ simulator: true });
    }, 180_000);
    afterAll(() => product?.stop(), 60_000);

    it(
      'shows what its commands really print, one after the other',
      async () => {
        const steps = parseConsoleSteps(readFileSync(resolve(document), 'utf8'));
        expect(steps.length).toBeGreaterThan(minSteps);
        const commands = steps.map(({ command }) =>
          command
            .replace('http://127.0.0.1:8080', product.runtime.base_url)
            .replace('=.data/', `=${product.runtime.data_dir}/`),
        );
        const printed = await runInShell(commands, timeoutMs);
        expect(steps.map(({ command }, at) => ({ command, prints: maskVolatile(printed[at] ?? 'not run') }))).toEqual(
          steps.map(({ command, output }) => ({ command, prints: maskVolatile(output) })),
        );
      },
      timeoutMs + 30_000,
    );
  });
}
