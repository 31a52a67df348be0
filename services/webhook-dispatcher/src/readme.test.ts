import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { schema } from './config.ts';

const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');

describe('the README', () => {
  it('names every setting with its default, and no other', () => {
    const rows = readme
      .slice(readme.indexOf('## Settings'))
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|').map((cell) => cell.trim()));
    const documentedNames = rows.flatMap(([, names = '']) => [...names.matchAll(/`(\w+)`/g)].map(([, name]) => name));
    expect(documentedNames.toSorted()).toEqual(Object.keys(schema).toSorted());
    const documented = new Map(rows.map(([, names = '', value = '']) => [names.replaceAll('`', ''), value]));
    const own = Object.entries(schema).filter(([name]) => name.startsWith('WEBHOOK_'));
    const written = own.map(([name, variable]) => [name, 'default' in variable ? String(variable.default) : '']);
    expect(own.map(([name]) => [name, documented.get(name)])).toEqual(
      written.map(([name, value]) => [name, value === '' ? '-' : value]),
    );
  });
});
