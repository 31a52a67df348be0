import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { accountRetention, sharedCollections } from './retention-policies.ts';

describe('retention policies of collections', () => {
  const roots = ['../', '../../../../libs/storage/src/'].map((path) => new URL(path, import.meta.url));

  it('covers every collection that the sources name', () => {
    const sources = roots.flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing'))
        .map((path) => new URL(path, root)),
    );
    const patterns = [
      /collection(?:<[^;=]*?>)?\(\s*'([a-z_]+)'/g,
      /AccountRepository(?:<\w+>)?\(\s*records,\s*'([a-z_]+)'/g,
      /new \w+\(database, '([a-z_]+)'\)/g,
    ];
    const named = sources.flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name ?? ''));
    });
    const unknown = [...new Set(named)].filter(
      (name) => !(name in accountRetention) && !sharedCollections.includes(name),
    );
    expect(unknown.toSorted()).toEqual([]);
  });
});
