import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..', '..');

/** Folders whose code sends commands to MongoDB. */
const folders = [
  'libs/storage/src',
  ...['device-api', 'platform-api', 'upload-ftp', 'webhook-dispatcher'].map((name) => `services/${name}/src`),
];
/** JSON Schema. */
const otherNames = new Set(['$ref', '$id', '$schema']);

const listSources = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
    .map((name) => join(root, folder, name));

/** Returns the names with a dollar sign that are keys of an object. */
function findOperators(): string[] {
  const found = new Set<string>();
  for (const file of folders.flatMap(listSources))
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/(\$[a-z][A-Za-z]+)['"]?\]?\??:/g))
      if (!otherNames.has(name)) found.add(name);
  return [...found].toSorted();
}

describe('docs/reference/mongodb.md', () => {
  it('lists each operator that the product sends, and no other', () => {
    const page = readFileSync(join(root, 'docs/reference/mongodb.md'), 'utf8');
    const rows = page.slice(page.indexOf('## Operators')).matchAll(/^\| (`\$[^|]*)\|/gm);
    const listed = [...rows].flatMap(([, names = '']) => [...names.matchAll(/`(\$\w+)`/g)].map(([, name]) => name));
    expect(findOperators()).toContain('$setOnInsert');
    expect(listed.toSorted()).toEqual(findOperators());
  });
});
