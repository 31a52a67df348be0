import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const source = dirname(fileURLToPath(import.meta.url));

/** The folders of each layer, lowest first; `domains/` is left out of the names. docs/architecture.md describes them. */
const layers: readonly (readonly string[])[] = [
  // platform
  'geometry jobs mail maps platform providers store',
  // identity
  'access http-api accounts api-keys audit auth sessions signing-keys users',
  // fleet
  'billing dealers drivers geocoding geofences last-positions mining-devices planned-routes positions share-links ' +
    'unassigned-devices vehicle-groups vehicle-shares vehicle-states vehicles video-access',
  // events
  'broadcasts captures commands dashcam data-usage downloads event-consumers media messaging notification-delivery notifications partners preferences ' +
    'rules telemetry',
  // edge
  'dashboard-config day-summaries documents fleet-index support-tickets toll-gates webhooks websocket',
  'assembly',
  // entry points: files of src itself
  '.',
].map((folders) => folders.split(' '));

interface Import {
  /** Paths from `src`. */
  readonly from: string;
  readonly to: string;
}

const toPath = (file: string): string => relative(source, file).split(sep).join('/');

/** Type imports are erased, and `Deps` names types of all layers. */
const valueImport = /^(?:import|export)\s+(?!type\b)[^;]*?from\s+'(\.[^']+)'/gm;
const typesOnly = /^(?:import|export)\s+\{\s*type\s[^}]*\}/;

function isTypesOnly(statement: string): boolean {
  if (!typesOnly.test(statement)) return false;
  const names = /\{([^}]*)\}/.exec(statement)?.[1] ?? '';
  return names.split(',').every((name) => name.trim() === '' || name.trim().startsWith('type '));
}

function findImports(): Import[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.includes('testing'))
    .flatMap((name) => {
      const file = join(source, name);
      const statements = [...readFileSync(file, 'utf8').matchAll(valueImport)].filter(([text]) => !isTypesOnly(text));
      return statements.map(([, to = '']) => ({ from: toPath(file), to: toPath(resolve(dirname(file), to)) }));
    });
}

function folderOf(path: string): string {
  const [first = '', second = ''] = path.split('/');
  if (first === 'domains') return second;
  return path.includes('/') ? first : '.';
}

const levelOf = (path: string): number => layers.findIndex((folders) => folders.includes(folderOf(path)));
const imports = findImports();
const format = (found: readonly Import[]): string[] => found.map(({ from, to }) => `${from} imports ${to}`);

describe('the layers of platform-api (docs/architecture.md)', () => {
  it('cover every folder', () => {
    expect(imports.length).toBeGreaterThan(1_000);
    expect(imports.map(({ from }) => from).filter((path) => levelOf(path) === -1)).toEqual([]);
    expect(imports.map(({ to }) => to).filter((path) => levelOf(path) === -1)).toEqual([]);
  });

  it('never import from a higher layer', () => {
    expect(format(imports.filter(({ from, to }) => levelOf(to) > levelOf(from)))).toEqual([]);
  });

  it("keep a domain's store private: other folders import its queries, commands and use cases", () => {
    const foreign = imports.filter(({ from, to }) => {
      const isStore = to.startsWith('domains/') && /[/-](store|bucket-reader|bucket-writer)\.ts$/.test(to);
      return isStore && folderOf(from) !== folderOf(to);
    });
    expect(format(foreign)).toEqual([]);
  });
});
