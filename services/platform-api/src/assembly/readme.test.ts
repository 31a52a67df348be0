import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { schema } from './config.ts';

describe('settings of platform-api', () => {
  it('lists exactly the settings of the schema in the README', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
    const rows = readme.split('\n').filter((line) => /^\| `[A-Z]/.test(line));
    const named = rows.flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([A-Z0-9_]+)`/g)].map(([, name]) => name),
    );
    expect([...new Set(named)].toSorted()).toEqual(Object.keys(schema).toSorted());
  });
});
