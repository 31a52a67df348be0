import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';

const script = new URL('../generate.mjs', import.meta.url).pathname;

describe('the generated types of the Platform API', () => {
  it('equal those of the OpenAPI document', async () => {
    const { stderr } = await promisify(execFile)(process.execPath, [script, '--check']);
    expect(stderr).toBe('');
  }, 60_000);
});
