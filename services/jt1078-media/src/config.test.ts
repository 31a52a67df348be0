import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { loadConfig, schema } from './config.ts';

const secret = 'sixteen-characters-at-least';

describe('settings', () => {
  it('need the secret that URLs are signed with', () => {
    expect(() => loadConfig({})).toThrow('MEDIA_SIGNING_SECRET is required');
    expect(() => loadConfig({ MEDIA_SIGNING_SECRET: 'short' })).toThrow('MEDIA_SIGNING_SECRET');
    expect(loadConfig({ MEDIA_SIGNING_SECRET: secret })).toMatchObject({
      HTTP_PORT: 8085,
      MEDIA_LIVE_PORT: 7078,
      MEDIA_HISTORY_PORT: 7079,
      MEDIA_IDLE_STOP_MS: 60_000,
      MEDIA_ACCEPT_UNSOLICITED: false,
    });
  });

  it('accept unsolicited cameras for benchmarks, never in production', () => {
    const env = { MEDIA_ACCEPT_UNSOLICITED: 'true' };
    expect(loadConfig(env).MEDIA_ACCEPT_UNSOLICITED).toBe(true);
    expect(() => loadConfig({ ...env, MEDIA_SIGNING_SECRET: secret, NODE_ENV: 'production' })).toThrow(
      'refused with NODE_ENV=production',
    );
  });

  it('stand in the README, each with its default', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const missing = Object.entries(schema).filter(([name, variable]) => {
      const line = readme.split('\n').findLast((each) => each.includes(`\`${name}\``)) ?? '';
      const isNumber = 'default' in variable && typeof variable.default === 'number';
      return line === '' || (isNumber && !line.includes(String(variable.default)));
    });
    expect(missing).toEqual([]);
  });
});
