import { readEnv } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { clipSettingFaults, clipSettings } from './settings.ts';

const validate = (env: Record<string, string>): string[] =>
  clipSettingFaults({ ...readEnv(clipSettings, env), NODE_ENV: env['NODE_ENV'] ?? 'development' });

describe('clip settings', () => {
  it('require a signing secret other than the default in production', () => {
    expect(validate({})).toEqual([]);
    expect(validate({ NODE_ENV: 'production' })).toEqual([expect.stringContaining('CLIPS_SIGNING_SECRET')]);
    expect(validate({ NODE_ENV: 'production', CLIPS_SIGNING_SECRET: 'a-secret-of-this-deployment' })).toEqual([]);
  });

  it('require both parts of an access key', () => {
    const half = 'CLIPS_S3_ACCESS_KEY_ID and CLIPS_S3_SECRET_ACCESS_KEY must be set together';
    expect(validate({ CLIPS_S3_ACCESS_KEY_ID: 'a' })).toEqual([half]);
    expect(validate({ CLIPS_S3_SECRET_ACCESS_KEY: 's' })).toEqual([half]);
    expect(validate({ CLIPS_S3_ACCESS_KEY_ID: 'a', CLIPS_S3_SECRET_ACCESS_KEY: 's' })).toEqual([]);
  });
});
