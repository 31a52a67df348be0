import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const script = fileURLToPath(new URL('../../../scripts/check-exports.mjs', import.meta.url));

let checkout: string;
beforeEach(() => {
  checkout = mkdtempSync(join(tmpdir(), 'check-exports-'));
  execFileSync('git', ['init', '--quiet'], { cwd: checkout });
});
afterEach(() => rmSync(checkout, { recursive: true, force: true }));

/** Runs the check over files that git tracks, and returns the lines that it prints. */
function check(files: Readonly<Record<string, string>>): { status: number | null; lines: string[] } {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(checkout, path)), { recursive: true });
    writeFileSync(join(checkout, path), text);
  }
  execFileSync('git', ['add', '.'], { cwd: checkout });
  const { status, stdout } = spawnSync(process.execPath, [script, checkout], { encoding: 'utf8' });
  return { status, lines: stdout.split('\n').filter((line) => line !== '') };
}

const libraryPackage = JSON.stringify({
  name: '@fleet/clock',
  exports: { '.': { default: './dist/index.js' }, './testing': { default: './dist/testing/index.js' } },
});

describe('the check of exports', () => {
  it('reports each kind of declaration that no other file imports', () => {
    const source = `export const unusedValue = 1, usedValue = 2;
export function unusedFunction() { return unusedValue; }
export class UnusedClass {}
export interface UnusedShape { readonly value: number }
export type UnusedAlias = UnusedShape;
export default usedValue;
`;
    const { status, lines } = check({
      'services/example/src/values.ts': source,
      'services/example/src/main.ts': `import { usedValue } from './values.ts';\nconsole.log(usedValue);\n`,
    });
    expect(status).toBe(1);
    expect(lines).toEqual([
      ...['unusedValue', 'unusedFunction', 'UnusedClass', 'UnusedShape', 'UnusedAlias', 'default'].map(
        (name) => `services/example/src/values.ts: no other file imports "${name}"`,
      ),
      '6 needless exports (CONTRIBUTING, Exports)',
    ]);
  });

  it('reports a name that an index exports and no other package imports', () => {
    const { status, lines } = check({
      'libs/clock/package.json': libraryPackage,
      'libs/clock/src/index.ts': `export { now, unused } from './now.ts';\n`,
      'libs/clock/src/now.ts': 'export const now = 1;\nexport const unused = 2;\n',
      'services/example/src/main.ts': `import { now } from '@fleet/clock';\nconsole.log(now);\n`,
    });
    expect(status).toBe(1);
    expect(lines[0]).toBe('libs/clock/src/index.ts: no other file imports "unused"');
    expect(lines).toHaveLength(2);
  });

  it('accepts every form of an import', () => {
    const { status, lines } = check({
      'libs/clock/package.json': libraryPackage,
      'libs/clock/src/index.ts': `export * from './now.ts';\nexport * as zones from './zones.ts';\n`,
      'libs/clock/src/now.ts': 'export const now = 1;\n',
      'libs/clock/src/zones.ts': 'export const utc = 0;\n',
      'libs/clock/src/testing/index.ts': 'export const fakeNow = 3;\n',
      'services/example/src/lazy.tsx': 'export const Lazy = () => <p />;\n',
      'services/example/src/types.ts': 'export interface Shape { readonly value: number }\n',
      'services/example/src/worker.ts': 'export const start = () => {};\n',
      'services/example/src/main.ts': `import { now as currentTime, zones } from '@fleet/clock';
import * as testing from '@fleet/clock/testing';
import { type Shape } from './types.ts';
import './side-effect.ts';
const worker = new URL('./worker.ts', import.meta.url);
const shape: Shape = { value: currentTime };
console.log(worker, shape, zones, testing, () => import('./lazy.tsx'));
`,
      'services/example/src/side-effect.ts': 'console.log(1);\n',
    });
    expect(lines).toEqual([]);
    expect(status).toBe(0);
  });
});
