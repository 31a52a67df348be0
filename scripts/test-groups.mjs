// Groups the unit test files of a package. The files of a group share one module registry, because loading the modules
// again for each file takes half of the CPU time.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { slowTests } from './slow-tests.mjs';
import { root } from './steps.mjs';

const testFolders = ['libs', 'services', 'deploy'];
/** A larger group saves little more, and the workers finish at more unequal times. */
const groupSize = 10;

/** Returns the paths of all unit test files, relative to the root, in order. */
function findUnitTests() {
  return testFolders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    )
    .filter(
      (file) =>
        file.endsWith('.test.ts') && file.includes(`${sep}src${sep}`) && !/node_modules|[\\/]dist[\\/]/.test(file),
    )
    .sort();
}

/** Returns the groups: each slow file alone, the others of a package in groups of ten. */
function groupFiles(files) {
  const groups = [];
  const open = new Map();
  for (const file of files) {
    const name = file.split(sep).slice(0, 2).join('-');
    if (slowTests[file] !== undefined) {
      groups.push({ name, files: [file] });
      continue;
    }
    const group = open.get(name);
    if (group === undefined || group.files.length === groupSize) {
      open.set(name, { name, files: [file] });
      groups.push(open.get(name));
    } else {
      group.files.push(file);
    }
  }
  return groups;
}

/**
 * Writes one module for each group of unit test files, and returns the paths of these modules. The names depend on the
 * content, so that concurrent runs share files.
 * @param {readonly RegExp[]} [patterns] of paths; default: all files
 * @returns {string[]}
 */
export function writeTestGroups(patterns = []) {
  const folder = join(root, '.cache', 'unit-groups');
  mkdirSync(folder, { recursive: true });
  const wanted = findUnitTests().filter(
    (file) => patterns.length === 0 || patterns.some((pattern) => pattern.test(file)),
  );
  return groupFiles(wanted).map(({ name, files }) => {
    const source = `import { defineTests } from '../../scripts/test-group.mjs';\nawait defineTests(${JSON.stringify(files, null, 2)});\n`;
    const hash = createHash('sha256').update(source).digest('hex').slice(0, 8);
    const path = join(folder, `${name}-${hash}.mjs`);
    writeFileSync(path, source);
    return path;
  });
}
