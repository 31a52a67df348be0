import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { createApiDocument } from './api-document.ts';
import { loadConfig } from './config.ts';

const text = readFileSync(fileURLToPath(new URL('../../../docs/device-api.md', import.meta.url)), 'utf8');
const paths = createApiDocument()['paths'] as Record<string, Record<string, { responses: Record<string, unknown> }>>;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { responses }]) => ({
    name: `${method.toUpperCase()} ${path.replace('/api/v1', '')}`,
    errors: Object.keys(responses).filter((status) => Number(status) >= 400),
  })),
);
const names = operations.map(({ name }) => name);

/** Returns all matches of a pattern with one group. */
const found = (pattern: RegExp, within = text): string[] => [...within.matchAll(pattern)].map(([, part = '']) => part);
const sortValues = (values: Iterable<string>): string[] => [...values].toSorted((a, b) => (a < b ? -1 : 1));

// Its commands are run by test-e2e/src/device-api-doc.test.ts.
describe('docs/device-api.md', () => {
  it('lists every endpoint, and no other', () => {
    expect(sortValues(found(/^\| `([A-Z]+ \/[^`]*)` \|/gm))).toEqual(sortValues(names));
    for (const name of found(/`((?:GET|POST|DELETE) \/[a-z./-]+)`/g)) expect(names).toContain(name);
  });

  it('lists every error status', () => {
    // 405 belongs to paths, not to operations.
    const statuses = new Set(['405', ...operations.flatMap(({ errors }) => errors)]);
    expect(found(/^\| (\d{3}) \|/gm)).toEqual(sortValues(statuses));
  });

  it('has a command for each endpoint', () => {
    const commands = found(/^\$ (.*)$/gm);
    const isFor = (name: string, command: string): boolean => {
      const [method = '', path = ''] = name.split(' ');
      return /\$API([^?"]*)/.exec(command)?.[1] === path && command.includes('-X DELETE') === (method === 'DELETE');
    };
    expect(names.filter((name) => !commands.some((command) => isFor(name, command)))).toEqual([]);
  });

  it('states the default limits', () => {
    const config = loadConfig({}) as unknown as Record<string, number>;
    const rows = [...text.matchAll(/^\| [^|]+ \| ([^|]+) \| (`[A-Z_]+`[^|]*) \|$/gm)];
    expect(rows).toHaveLength(9);
    for (const [, limits = '', settings = ''] of rows) {
      const stated = found(/(\d+)/g, limits).map(Number);
      const set = found(/`(\w+)`/g, settings).map((name) => (config[name] ?? 0) / (name.endsWith('_MS') ? 1000 : 1));
      expect({ settings, stated }).toEqual({ settings, stated: set });
    }
  });
});
