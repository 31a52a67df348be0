import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';

const app = join(import.meta.dirname, '..', 'dist', 'app');

/** Budgets in bytes after gzip. */
const firstPageBytes = 280 * 1024;
/** The page of a share link. */
const sharePageBytes = 120 * 1024;
const mapBytes = 450 * 1024;
const drawingBytes = 50 * 1024;

const gzipSize = (path: string): number => gzipSync(readFileSync(join(app, path))).length;

/** Returns whether a file contains MapLibre. The bundler names the chunk after any module in it. */
const hasMap = (path: string): boolean =>
  path.endsWith('.js') && readFileSync(join(app, path), 'utf8').includes('maplibregl-canvas');

/** Returns whether a file contains parts of the signed-in page: Mantine or the router. */
const hasSignedInParts = (path: string): boolean =>
  /mantine-|router-link|tanstack/i.test(readFileSync(join(app, path), 'utf8'));

/** Returns the files that a page loads, with the modules that they import statically. */
function findFirstFiles(page: string): string[] {
  const html = readFileSync(join(app, page), 'utf8');
  const pending = [...html.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, path = '']) => path);
  const found = new Set<string>();
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    if (!path.endsWith('.js')) continue;
    const text = readFileSync(join(app, path), 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|^import|;import)\s*"\.\/([^"]+)"/g))
      pending.push(`assets/${name}`);
  }
  return [...found];
}

describe('the size of the dashboard', () => {
  it('is below 280 kB before the map', () => {
    const files = findFirstFiles('index.html');
    expect(files.some((path) => path.endsWith('.js'))).toBe(true);
    expect(files.filter(hasMap)).toEqual([]);
    expect(files.reduce((sum, path) => sum + gzipSize(path), 0)).toBeLessThan(firstPageBytes);
  });

  it('is below 120 kB for the page of a share link, which has no part of the signed-in page', () => {
    const files = findFirstFiles('share.html');
    expect(files.some((path) => path.endsWith('.js'))).toBe(true);
    expect(files.filter((path) => hasMap(path) || hasSignedInParts(path))).toEqual([]);
    expect(files.reduce((sum, path) => sum + gzipSize(path), 0)).toBeLessThan(sharePageBytes);
  });

  it('is below 450 kB for the map with its worker', () => {
    const paths = readdirSync(join(app, 'assets'))
      .map((name) => `assets/${name}`)
      .filter((path) => hasMap(path) || /maplibre-gl-worker.*\.js$/.test(path));
    expect(paths).toHaveLength(2);
    expect(paths.reduce((sum, path) => sum + gzipSize(path), 0)).toBeLessThan(mapBytes);
  });

  it('is below 50 kB for drawing, which is loaded when a shape is drawn', () => {
    const names = readdirSync(join(app, 'assets')).filter((name) => /^shape-editor.*\.js$/.test(name));
    expect(names).toHaveLength(1);
    expect(gzipSize(join('assets', names[0] ?? ''))).toBeLessThan(drawingBytes);
  });
});
