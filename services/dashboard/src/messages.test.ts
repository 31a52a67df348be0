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

/** Returns the first parts of a key, such as ``, `a` and `a.b` of `a.b.c`. */
const prefixesOf = (key: string): string[] => key.split('.').map((_, index, parts) => parts.slice(0, index).join('.'));

/** Returns the source text of a folder, and of all folders below. */
const readSources = (folder: string): string =>
  readdirSync(join(source, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.tsx?$/.test(path) && !path.endsWith('.test.ts'))
    .map((path) => readFileSync(join(source, folder, path), 'utf8'))
    .join('\n');

describe.each(folders)('the messages of %s', (folder) => {
  const english = flatten(readMessages(folder, 'en'));

  it.each(languages.filter((language) => language !== 'en'))('exist in %s with the same placeholders', (language) => {
    const translated = flatten(readMessages(folder, language));
    const shape = (entries: [string, string][]) => entries.map(([key, text]) => [key, placeholders(text)]);
    expect(shape(translated)).toEqual(shape(english));
  });

  it('are all used', () => {
    const text = readSources(folder === 'common' ? '.' : folder === 'scenes/video' ? '.' : folder);
    const unused = english
      .map(([key]) => key.replace(/_(one|other)$/, ''))
      // Keys with a variable part, such as `state.${state}`, are used by the parts before it.
      .filter((key) => !text.includes(key) && !prefixesOf(key).some((prefix) => text.includes(`${prefix}.\${`)));
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
