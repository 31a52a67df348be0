// The source files of a checkout, with their packages and rooms.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const isTestFile = /\.test\.ts$|(?:^|\/)testing\/|^test-e2e\/|^libs\/testing\//;

/** Returns the package of a file, such as `services/platform-api`, or undefined outside packages. */
const packageOf = (path) => /^(?:libs|services)\/[^/]+|^deploy\/local/.exec(path)?.[0];

/** Reads the TypeScript and JavaScript files that git tracks in a checkout. */
export function readSourceFiles(checkout) {
  return execFileSync('git', ['ls-files', '*.ts', '*.tsx', '*.mjs'], { cwd: checkout, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && !path.endsWith('.d.ts'))
    .map((path) => {
      const text = readFileSync(join(checkout, path), 'utf8');
      const lines = text.split('\n').length - 1;
      return { path, text, lines, isTest: isTestFile.test(path), packageName: packageOf(path) };
    });
}

/**
 * Returns the room of a file of a package: the first folder in `src`, the second in `src/domains`, or the file itself
 * if it is directly in `src`.
 */
export function roomOf(path) {
  const [first, second] = path.replace(/^.*?\/src\//, '').split('/');
  return first === 'domains' && second !== undefined ? `domains/${second}` : first;
}

/** Compares two names for an order that does not depend on the language of the machine. */
export const byName = (a, b) => (a < b ? -1 : 1);
