import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { loadConfig, schema } from './config.ts';
import { parseAacFormats } from './use-cases/aac-formats.ts';

const secret = 'sixteen-characters-at-least';

describe('media configuration', () => {
  it('requires the secret that signs URLs', () => {
    expect(() => loadConfig({})).toThrow('MEDIA_SIGNING_SECRET is required');
    expect(() => loadConfig({ MEDIA_SIGNING_SECRET: 'short' })).toThrow('MEDIA_SIGNING_SECRET');
    expect(loadConfig({ MEDIA_SIGNING_SECRET: secret })).toMatchObject({
      HTTP_PORT: 8085,
      ADMIN_PORT: 8092,
      MEDIA_LIVE_PORT: 7078,
      MEDIA_HISTORY_PORT: 7079,
      MEDIA_IDLE_STOP_MS: 60_000,
      MEDIA_ACCEPT_UNSOLICITED: false,
    });
  });

  it('allows unsolicited cameras for benchmarks, but not in production', () => {
    const env = { MEDIA_ACCEPT_UNSOLICITED: 'true' };
    expect(loadConfig(env).MEDIA_ACCEPT_UNSOLICITED).toBe(true);
    expect(() => loadConfig({ ...env, MEDIA_SIGNING_SECRET: secret, NODE_ENV: 'production' })).toThrow(
      'refused with NODE_ENV=production',
    );
  });

  it('parses AAC formats by model or number and rejects values that AAC does not support', () => {
    const load = (MEDIA_AAC_FORMATS: string) => loadConfig({ MEDIA_SIGNING_SECRET: secret, MEDIA_AAC_FORMATS });
    const text = 'CAM 4G=44100/2,013800138000=48000/1,00000000013800138001=8000/1';
    expect([...parseAacFormats(load(text).MEDIA_AAC_FORMATS)]).toEqual([
      ['CAM 4G', { sampleRate: 44_100, channels: 2 }],
      ['13800138000', { sampleRate: 48_000, channels: 1 }],
      ['13800138001', { sampleRate: 8_000, channels: 1 }],
    ]);
    expect(parseAacFormats(undefined).size).toBe(0);
    for (const wrong of ['CAM', 'CAM=44000/2', 'CAM=44100/3', 'CAM=44100/2,', '=44100/2'])
      expect(() => load(wrong)).toThrow('MEDIA_AAC_FORMATS');
  });

  it('matches the settings and defaults of the README', () => {
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
    const missing = Object.entries(schema).filter(([name, variable]) => {
      const line = readme.split('\n').findLast((each) => each.includes(`\`${name}\``)) ?? '';
      const isNumber = 'default' in variable && typeof variable.default === 'number';
      return line === '' || (isNumber && !line.includes(String(variable.default)));
    });
    expect(missing).toEqual([]);
  });
});
