import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import { formatSupportTable } from './support-table.ts';

it('docs/protocol-support.md matches the definitions (`npm run generate` writes it)', () => {
  const path = resolve(import.meta.dirname, '../../../docs/protocol-support.md');
  expect(readFileSync(path, 'utf8')).toBe(formatSupportTable());
});
