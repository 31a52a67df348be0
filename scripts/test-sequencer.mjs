// The order in which jest starts test files: the slowest first, so that no worker finishes long after the others.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { slowTests } from './slow-tests.mjs';
import { root } from './steps.mjs';

/** Estimated seconds of a file without a recorded duration. */
const usualSeconds = 2;

/** Returns the estimated seconds of a test file, or of a group, which names its files. */
function estimateSeconds(path) {
  const own = slowTests[relative(root, path)];
  if (own !== undefined) return own;
  if (!path.endsWith('.mjs')) return usualSeconds;
  /** @type {string[]} */
  const files = readFileSync(path, 'utf8').match(/[^"]+\.test\.ts/g) ?? [];
  return files.reduce((sum, file) => sum + (slowTests[file] ?? usualSeconds), 0);
}

export default class SlowestFirst {
  /** @param {{ path: string }[]} tests */
  sort(tests) {
    const estimates = new Map(tests.map((test) => [test, estimateSeconds(test.path)]));
    return tests.toSorted((left, right) => (estimates.get(right) ?? 0) - (estimates.get(left) ?? 0));
  }

  cacheResults() {}
}
