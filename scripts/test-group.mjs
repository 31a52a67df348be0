// Runs inside jest: defines the tests of several files in one test file, each file in a describe block named after it.
import { describe, it, jest } from '@jest/globals';

const stateKey = Object.getOwnPropertySymbols(globalThis).find(
  ({ description }) => description === 'JEST_STATE_SYMBOL',
);
const timeLimitKey = Symbol.for('TEST_TIMEOUT_SYMBOL');

/**
 * Loads a test file while its block is open, so that its hooks apply only to its own tests. Jest has no asynchronous
 * describe blocks: the current block is set in its state. A file that cannot be loaded becomes a failed test.
 */
async function defineFile(file) {
  const state = globalThis[stateKey];
  const outer = state.currentDescribeBlock;
  let block;
  // oxlint-disable-next-line jest/valid-title -- the title is the path of the file
  describe(file, () => {
    block = state.currentDescribeBlock;
  });
  state.currentDescribeBlock = block;
  try {
    await import(new URL(`../${file}`, import.meta.url).href);
  } catch (error) {
    // oxlint-disable-next-line jest/expect-expect -- it always fails
    it('loads', () => {
      throw error;
    });
  } finally {
    state.currentDescribeBlock = outer;
  }
}

/**
 * Defines the tests of the files, in order. The largest timeout that a file sets applies to all of them.
 * @param {readonly string[]} files paths relative to the root of the repository
 */
export async function defineTests(files) {
  let timeLimitMs = 0;
  for (const file of files) {
    await defineFile(file);
    timeLimitMs = Math.max(timeLimitMs, globalThis[timeLimitKey] ?? 0);
  }
  if (timeLimitMs > 0) jest.setTimeout(timeLimitMs);
}
