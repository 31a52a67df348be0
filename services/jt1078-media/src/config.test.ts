import { describe, expect, it } from '@jest/globals';
import { loadConfig } from './config.ts';

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
});
