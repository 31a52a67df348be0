import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type RunningProduct, startProduct } from '@fleet/local/product';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { maskVolatile, parseConsoleSteps, runInShell } from './console-blocks.ts';

/** Parameters of the check of a document with commands. */
interface DocumentedCommands {
  /** Path relative to the root of the checkout. */
  readonly document: string;
  /** A smaller number of steps means that the document was not parsed correctly. */
  readonly minSteps: number;
  readonly timeoutMs: number;
}

/**
 * Runs the commands of a document against a product like that of `npm start`, except for ports and folder, and compares
 * their output.
 */
export function describeDocumentedCommands({ document, minSteps, timeoutMs }: DocumentedCommands): void {
  describe(`the commands of ${document}`, () => {
    let product: RunningProduct;
    beforeAll(async () => {
      product = await startProduct({ simulator: true });
    }, 180_000);
    afterAll(() => product?.stop(), 60_000);

    it(
      'match their documented output, one after another',
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
