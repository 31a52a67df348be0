import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { languages } from './common/i18n/languages.ts';

const source = import.meta.dirname;

type Messages = { readonly [key: string]: string | Messages };

const readMessages = (folder: string, language: string): Messages =>
  JSON.parse(readFileSync(join(source, folder, 'messages', `${language}.json`), 'utf8')) as Messages;

/** Returns the messages of a file by their full keys. */
const flatten = (messages: Messages, prefix = ''): [string, string][] =>
  Object.entries(messages).flatMap(([key, value]) =>
    typeof value === 'string' ? [[`${prefix}${key}`, value] as [string, string]] : flatten(value, `${prefix}${key}.`),
  );

const folders = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith(join('messages', 'en.json')))
  .map((path) => dirname(dirname(path)));

const placeholders = (text: string): string[] => (text.match(/\{\{\w+\}\}/g) ?? []).toSorted();

/** Returns the source text of a folder, and of all folders below. */
const readSources = (folder: string): string =>
  readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(join(source, folder, path), 'utf8'))
    .join('\n');

const literal = /'([^'\\\n]*)'|"([^"\\\n]*)"/g;
const template = /`([^`\\]*\$\{[^`]*)`/g;

/** Returns the string literals of a text; a namespace before a key, such as `common:`, is left out. */
const readLiterals = (text: string): Set<string> =>
  new Set([...text.matchAll(literal)].map(([, single, double]) => (single ?? double ?? '').replace(/^\w+:/, '')));

/** Returns a pattern for each template key, such as `state.${state}`; its groups are the variable parts. */
function readTemplates(text: string): RegExp[] {
  const keys = [...text.matchAll(template)].map(([, key = '']) => key.replace(/^\w+:/, ''));
  return (
    keys
      .map((key) => key.split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/))
      // A key without a literal part could be any key.
      .filter((parts) => parts.every((part) => /^[\w.]*$/.test(part)) && parts.some((part) => part.includes('.')))
      .map((parts) => new RegExp(`^${parts.map((part) => part.replaceAll('.', '\\.')).join('(\\w+)')}$`))
  );
}

/** Values that variable parts of keys can have: names in the page's source and in the types of the API. */
const knownValues = new Set(
  [readSources('.'), readFileSync(join(source, '../../../libs/api-client/src/platform-api.ts'), 'utf8')].flatMap(
    (text) => [
      ...readLiterals(text),
      ...[...text.matchAll(/^ *(?:readonly )?(\w+)\??:/gm)].map(([, name = '']) => name),
    ],
  ),
);

/** Returns whether a template makes a key from values that occur in the product. */
const isMadeBy = (key: string, pattern: RegExp): boolean => {
  const values = pattern.exec(key)?.slice(1);
  return values !== undefined && values.every((value) => /^\d+$/.test(value) || knownValues.has(value));
};

describe.each(folders)('the messages of %s', (folder) => {
  const english = flatten(readMessages(folder, 'en'));

  it.each(languages.filter((language) => language !== 'en'))('exist in %s with the same placeholders', (language) => {
    const translated = flatten(readMessages(folder, language));
    const shape = (entries: [string, string][]) => entries.map(([key, text]) => [key, placeholders(text)]);
    expect(shape(translated)).toEqual(shape(english));
  });

  it('are all used', () => {
    const text = readSources(folder === 'common' ? '.' : folder === 'scenes/video' ? '.' : folder);
    const literals = readLiterals(text);
    const templates = readTemplates(text);
    const unused = english
      .map(([key]) => key.replace(/_(one|other)$/, ''))
      .filter((key) => !literals.has(key) && !templates.some((pattern) => isMadeBy(key, pattern)));
    expect(unused).toEqual([]);
  });
});

describe('the keys in the source', () => {
  it.each(folders.filter((folder) => folder !== 'common'))('of %s exist in English', (folder) => {
    const known = new Set(flatten(readMessages(folder, 'en')).map(([key]) => key.replace(/_(one|other)$/, '')));
    const used = [...readSources(folder).matchAll(/\bt\('([\w.]+)'/g)].map(([, key]) => key ?? '');
    expect(used.filter((key) => !known.has(key))).toEqual([]);
  });
});
