import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { verificationSamples } from './verification-samples.ts';

type Verify = (headers: Record<string, string>, body: string) => boolean;

let folder: string;
let isGenuine: Verify;
const secretBefore = process.env['WEBHOOK_SECRET'];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'fleet-sample-'));
  const file = join(folder, 'sample.mjs');
  writeFileSync(file, verificationSamples.node);
  ({ isGenuine } = (await import(pathToFileURL(file).href)) as { isGenuine: Verify });
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  if (secretBefore === undefined) delete process.env['WEBHOOK_SECRET'];
  else process.env['WEBHOOK_SECRET'] = secretBefore;
});

function sign(key: Buffer | string, body: string, ageSeconds = 0): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000) - ageSeconds);
  const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.${body}`).digest('base64');
  return {
    'webhook-id': 'msg_1',
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature} v1,b3RoZXI=`,
  };
}

describe('the Node sample', () => {
  it.each([
    ['a generated secret', true],
    ["the user's own secret", false],
  ])('accepts a genuine request with %s, and no other', (_case, isGenerated) => {
    const bytes = randomBytes(32);
    const secret = isGenerated ? `whsec_${bytes.toString('base64')}` : 'an-own-secret';
    process.env['WEBHOOK_SECRET'] = secret;
    const key = isGenerated ? bytes : secret;
    expect(isGenuine(sign(key, 'body'), 'body')).toBe(true);
    expect(isGenuine(sign(key, 'body'), 'changed')).toBe(false);
    expect(isGenuine(sign('another key', 'body'), 'body')).toBe(false);
    expect(isGenuine(sign(key, 'body', 600), 'body')).toBe(false);
  });
});
