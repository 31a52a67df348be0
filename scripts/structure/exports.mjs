// The exports of source files, and those that no other file imports.
import { dirname, join } from 'node:path';
import { parseSync } from '@swc/core';

const dynamicImport = /\bimport\(\s*['"]([^'"]+)['"]/g;
const workerUrl = /new URL\(\s*['"](\.[^'"]+)['"],\s*import\.meta\.url/g;
const everyName = '*';

const nameOf = (node) => node?.value;

/** Returns the names that a declaration declares. */
function declaredNames(declaration) {
  if (declaration.type === 'VariableDeclaration') return declaration.declarations.flatMap(({ id }) => patternNames(id));
  return [nameOf(declaration.identifier ?? declaration.id)];
}

function patternNames(pattern) {
  if (pattern.type === 'Identifier') return [pattern.value];
  const parts = pattern.properties ?? pattern.elements ?? [];
  return parts.flatMap((part) => {
    if (part === null) return [];
    return part.type === 'AssignmentPatternProperty'
      ? [part.key.value]
      : patternNames(part.value ?? part.argument ?? part);
  });
}

/** Returns the exported names of a file, and the names that it imports from each module. */
function readModule({ path, text }) {
  /** @type {{ body: readonly any[] }} */
  const { body } = parseSync(text, { syntax: 'typescript', tsx: path.endsWith('.tsx'), target: 'es2022' });
  const exported = [];
  const imported = [];
  for (const item of body) {
    const source = nameOf(item.source);
    if (item.type === 'ImportDeclaration')
      imported.push(...item.specifiers.map((specifier) => ({ source, name: importedName(specifier) })));
    else if (item.type === 'ExportDeclaration') exported.push(...declaredNames(item.declaration));
    else if (item.type === 'ExportDefaultDeclaration' || item.type === 'ExportDefaultExpression')
      exported.push('default');
    else if (item.type === 'ExportAllDeclaration') imported.push({ source, name: everyName });
    else if (item.type === 'ExportNamedDeclaration') {
      for (const { orig, exported: alias, name } of item.specifiers) {
        exported.push(nameOf(alias ?? orig ?? name));
        if (source !== undefined) imported.push({ source, name: orig === undefined ? everyName : nameOf(orig) });
      }
    }
  }
  // A dynamic import may use each name of its module.
  for (const pattern of [dynamicImport, workerUrl])
    for (const [, source] of text.matchAll(pattern)) imported.push({ source, name: everyName });
  return { path, exported, imported };
}

function importedName(specifier) {
  if (specifier.type === 'ImportDefaultSpecifier') return 'default';
  if (specifier.type === 'ImportNamespaceSpecifier') return everyName;
  return nameOf(specifier.imported ?? specifier.local);
}

/** Returns the source file of a compiled file: `dist/x.js` is `src/x.ts`. */
export const toSourcePath = (path) => path.replace(/(^|\/)dist\//, '$1src/').replace(/\.js$/, '.ts');

/**
 * Returns the exports that no other file imports, as { path, name }. `entryPoints` maps the modules of packages, such as
 * `@fleet/bus`, to their files.
 */
export function findNeedlessExports(files, entryPoints) {
  const modules = files.map(readModule);
  const used = new Map(modules.map(({ path }) => [path, new Set()]));
  for (const { path, imported } of modules) {
    for (const { source, name } of imported) {
      const target = source.startsWith('.')
        ? toSourcePath(join(dirname(path), source.replace(/\?.*$/, '')))
        : entryPoints.get(source);
      used.get(target)?.add(name);
    }
  }
  return modules.flatMap(({ path, exported }) => {
    const names = used.get(path);
    return names.has(everyName) ? [] : exported.filter((name) => !names.has(name)).map((name) => ({ path, name }));
  });
}
