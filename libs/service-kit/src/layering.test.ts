import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');

interface Package {
  /** Folder from the root, such as `libs/bus`. */
  readonly folder: string;
  readonly name: string;
  readonly dependencies: readonly string[];
  readonly devDependencies: readonly string[];
}

interface Import {
  /** Path from the root. */
  readonly file: string;
  readonly from: string;
  readonly isTest: boolean;
  readonly package: Package;
}

function findPackages(parent: string): Package[] {
  return readdirSync(join(root, parent))
    .map((name) => `${parent}/${name}`)
    .filter((folder) => existsSync(join(root, folder, 'package.json')))
    .map(readPackage);
}

function readPackage(folder: string): Package {
  const text = readFileSync(join(root, folder, 'package.json'), 'utf8');
  const manifest = JSON.parse(text) as Record<string, unknown> & { name: string };
  const names = (key: string) => Object.keys(manifest[key] ?? {});
  const dependencies = [...names('dependencies'), ...names('peerDependencies'), ...names('optionalDependencies')];
  return { folder, name: manifest.name, dependencies, devDependencies: names('devDependencies') };
}

const importShapes = [/\bfrom\s+'([^']+)'/g, /\bimport\s+'([^']+)'/g, /\bimport\(\s*'([^']+)'/g];

function findImports(each: Package): Import[] {
  const source = join(root, each.folder, 'src');
  if (!existsSync(source)) return [];
  return sourceFiles(source).flatMap((path) => {
    const text = readFileSync(path, 'utf8');
    const file = relative(root, path).split(sep).join('/');
    // Tests read and run examples; users of the package do not need them.
    const isTest = file.endsWith('.test.ts') || /\/(testing|examples)\//.test(file);
    const found = importShapes.flatMap((shape) => [...text.matchAll(shape)].map((match) => match[1] ?? ''));
    return found.map((from) => ({ file, from, isTest, package: each }));
  });
}

const sourceFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(ts|tsx|mts)$/.test(name))
    .map((name) => join(folder, name));

const libs = findPackages('libs');
const services = findPackages('services');
const all = [...libs, ...services];
const imports = all.flatMap(findImports);
/** Packages outside the layers: the local launcher and the end-to-end tests. */
const outer = [...findPackages('deploy'), readPackage('test-e2e')].flatMap(findImports);
const rootTestPackages = new Set(['@jest/globals', 'fast-check']);
const isOurs = (name: string): boolean => name.startsWith('@fleet/');
const isService = (name: string): boolean => services.some((service) => service.name === name);
/** Returns the package of an import: `@fleet/bus` of `@fleet/bus/x`, `redis` of `redis/x`. */
const toPackageName = (from: string): string => from.split('/', from.startsWith('@') ? 2 : 1).join('/');
const formatImport = (found: readonly Import[]): string[] => found.map(({ file, from }) => `${file} imports ${from}`);

/** Returns the files of a package that its entry imports, directly or not. */
function findReachable(entry: string, own: readonly Import[]): Set<string> {
  const reached = new Set([entry]);
  for (const file of reached)
    for (const one of own)
      if (one.file === file && one.from.startsWith('.'))
        reached.add(join(dirname(file), one.from).split(sep).join('/'));
  return reached;
}

describe('the layers of the packages (docs/architecture.md)', () => {
  it('covers the known packages', () => {
    expect(libs.map(({ name }) => name)).toEqual(expect.arrayContaining(['@fleet/bus', '@fleet/jt808']));
    expect(services).toHaveLength(readdirSync(join(root, 'services')).length);
    expect(imports.length).toBeGreaterThan(100);
  });

  it('libraries never depend on services', () => {
    const depending = libs.filter((lib) => [...lib.dependencies, ...lib.devDependencies].some(isService));
    expect(depending.map(({ name }) => name)).toEqual([]);
    expect(
      formatImport(
        imports.filter((one) => one.package.folder.startsWith('libs/') && isService(toPackageName(one.from))),
      ),
    ).toEqual([]);
  });

  it('services never depend on one another: they communicate over the bus', () => {
    const depending = services.filter((each) => [...each.dependencies, ...each.devDependencies].some(isService));
    expect(depending.map(({ name }) => name)).toEqual([]);
    expect(formatImport(imports.filter(({ from }) => isService(toPackageName(from))))).toEqual([]);
  });

  it.each(['@fleet/jt808', '@fleet/jt1078'])('%s has no dependency on this product and no input or output', (name) => {
    const codec = libs.find((lib) => lib.name === name);
    expect(codec?.dependencies.filter(isOurs)).toEqual([]);
    const own = imports.filter((one) => one.package.name === name && !one.isTest);
    expect(formatImport(own.filter(({ from }) => isOurs(from)))).toEqual([]);
    const io = /^(node:)?(net|dgram|tls|http|https|http2|fs|fs\/promises|child_process|dns|worker_threads|cluster)$/;
    // Tools that write a table into the documentation are not reachable from the library's entry.
    const library = findReachable(`${codec?.folder}/src/index.ts`, own);
    expect(library.size).toBeGreaterThan(5);
    expect(formatImport(own.filter(({ file, from }) => library.has(file) && io.test(from)))).toEqual([]);
  });

  it('libraries depend on one another without a cycle', () => {
    const circles: string[] = [];
    const visit = (lib: Package, path: readonly string[]): void => {
      if (path.includes(lib.name)) circles.push([...path, lib.name].join(' -> '));
      else for (const next of libs) if (lib.dependencies.includes(next.name)) visit(next, [...path, lib.name]);
    };
    for (const lib of libs) visit(lib, []);
    expect(circles).toEqual([]);
  });

  it('the simulator is a devDependency, used by tests only', () => {
    const simulator = '@fleet/terminal-simulator';
    expect(all.filter(({ dependencies }) => dependencies.includes(simulator)).map(({ name }) => name)).toEqual([]);
    expect(formatImport(imports.filter((one) => toPackageName(one.from) === simulator && !one.isTest))).toEqual([]);
  });

  /** Packages of types only. */
  const typePackages = new Set(['geojson', 'topojson-specification']);

  it('every imported package is declared, as a dependency or for tests', () => {
    const undeclared = imports.filter(({ from, isTest, package: own }) => {
      const { dependencies, devDependencies } = own;
      const name = toPackageName(from);
      // Programs of tests import their package as others do.
      if (isTest && name === own.name) return false;
      // Packages of the root serve all tests.
      if (from.startsWith('.') || from.startsWith('node:') || (isTest && rootTestPackages.has(name))) return false;
      // The page's build resolves types of packages that have no code of their own, such as GeoJSON.
      if (typePackages.has(name)) return !devDependencies.includes(`@types/${name}`);
      return !dependencies.includes(name) && !(isTest && devDependencies.includes(name));
    });
    expect(formatImport(undeclared)).toEqual([]);
  });

  it('relative imports stay inside their package, in tests too', () => {
    const leaving = [...imports, ...outer].filter((one) => {
      if (!one.from.startsWith('.')) return false;
      const target = relative(root, resolve(root, dirname(one.file), one.from))
        .split(sep)
        .join('/');
      return !target.startsWith(`${one.package.folder}/`);
    });
    expect(formatImport(leaving)).toEqual([]);
  });

  it('the test helpers of all packages depend on none of them', () => {
    const { dependencies, devDependencies } = readPackage('libs/testing');
    expect([...dependencies, ...devDependencies].filter(isOurs)).toEqual([]);
  });

  it('only tests and test helpers import test helpers', () => {
    const isHelper = (from: string): boolean => from === '@fleet/testing' || /\/testing(\/|$)/.test(from);
    const importing = [...imports, ...outer].filter(({ from, isTest }) => isHelper(from) && !isTest);
    expect(formatImport(importing)).toEqual([]);
    expect(all.filter(({ dependencies }) => dependencies.includes('@fleet/testing'))).toEqual([]);
  });

  it.each([
    ['nats', 'libs/bus'],
    ['mongodb', 'libs/storage'],
    ['redis', 'libs/storage'],
  ])('only one library imports the package %s', (name, folder) => {
    const foreign = imports.filter((one) => toPackageName(one.from) === name && one.package.folder !== folder);
    expect(formatImport(foreign.filter(({ isTest }) => !isTest))).toEqual([]);
  });
});
