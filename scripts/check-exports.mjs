// Checks that other files import each export (see CONTRIBUTING, Exports). Prints the needless ones and exits with 1 if
// there are any. An argument names another checkout.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './steps.mjs';
import { findNeedlessExports, toSourcePath } from './structure/exports.mjs';
import { readSourceFiles } from './structure/source-files.mjs';

/** Exports without an import, as `path` for a whole file or `path: name`. */
const exempt = new Set([
  // Partners use these libraries.
  'libs/terminal-simulator/src/index.ts',
  'libs/webhook-receiver/src/index.ts',
  // Generated.
  'libs/api-client/src/platform-api.ts',
  // Loaded by a tool, or by a program that a test writes.
  'jest.config.mjs',
  'services/dashboard/vite.config.ts',
  'scripts/metrics-table.mjs',
  'scripts/test-group.mjs',
  'scripts/test-sequencer.mjs',
  // The declarations of other files name them (TS4023).
  'libs/bus/src/contract.ts: EventContract',
  'libs/bus/src/contract.ts: RequestContract',
  'libs/jt808/src/fields/lists.ts: CanItem',
  'libs/jt808/src/fields/lists.ts: ControlItem',
]);

/** Returns the source file of each module of a package, such as `@fleet/bus`. */
function readEntryPoints(checkout) {
  const folders = ['libs', 'services', 'deploy'].flatMap((group) =>
    existsSync(join(checkout, group)) ? readdirSync(join(checkout, group)).map((name) => join(group, name)) : [],
  );
  const entries = folders.flatMap((folder) => {
    const file = join(checkout, folder, 'package.json');
    if (!existsSync(file)) return [];
    const { name, exports = {} } = JSON.parse(readFileSync(file, 'utf8'));
    return Object.entries(exports).map(([module, target]) => {
      return /** @type {const} */ ([join(name, module), toSourcePath(join(folder, target.default ?? target))]);
    });
  });
  return new Map(entries);
}

const checkout = process.argv[2] ?? root;
const needless = findNeedlessExports(readSourceFiles(checkout), readEntryPoints(checkout))
  .filter(({ path, name }) => !exempt.has(path) && !exempt.has(`${path}: ${name}`))
  .map(({ path, name }) => `${path}: no other file imports "${name}"`);
if (needless.length > 0)
  console.log(`${needless.join('\n')}\n${needless.length} needless exports (CONTRIBUTING, Exports)`);
process.exitCode = needless.length > 0 ? 1 : 0;
