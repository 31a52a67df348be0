import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { root } from './service-settings.ts';

it('docs/reference/settings.md lists the settings of the services: run npm run generate', () => {
  const generated = execFileSync(process.execPath, ['scripts/settings-table.mjs', '--print'], {
    cwd: root,
    encoding: 'utf8',
  });
  expect(readFileSync(join(root, 'docs', 'reference', 'settings.md'), 'utf8')).toBe(generated);
});
