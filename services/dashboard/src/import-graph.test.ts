import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const source = import.meta.dirname;

const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path));

/** Returns the relative imports of a file, as paths from `src`. */
const importsOf = (file: string): string[] =>
  [...readFileSync(join(source, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)].map(([, path = '']) =>
    normalize(join(dirname(file), path)),
  );

const sceneOf = (path: string): string | undefined => /^scenes\/([^/]+)\//.exec(path)?.[1];

const importsPackage = (text: string, name: string): boolean => text.includes(['from', `'${name}'`].join(' '));

describe('the folders of the dashboard', () => {
  it('import no scene from another scene or from common', () => {
    const wrong = files
      .filter((file) => file.startsWith('scenes/') || file.startsWith('common/'))
      .flatMap((file) =>
        importsOf(file)
          .filter((path) => sceneOf(path) !== undefined && sceneOf(path) !== sceneOf(file))
          .map((path) => `${file} imports ${path}`),
      );
    expect(wrong).toEqual([]);
  });

  it('use mpegts.js and MapLibre in one folder each', () => {
    const usersOf = (name: string): string[] =>
      files
        .filter((file) => importsPackage(readFileSync(join(source, file), 'utf8'), name))
        .map((file) => dirname(file));
    expect([...new Set(usersOf('mpegts.js'))]).toEqual(['common/video']);
    expect([...new Set(usersOf('maplibre-gl'))]).toEqual(['common/map']);
  });
});
