import { redactConfig } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { configSchema, loadConfig } from './config.ts';

const secret = {
  MEDIA_SIGNING_SECRET: 'a-secret-of-this-deployment',
  CLIPS_SIGNING_SECRET: 'another-secret-of-this-deployment',
  STREAM_TOKEN_SECRET: 'a-third-secret-of-this-deployment',
};

describe('DEVICE_API_AUTH', () => {
  it.each([
    [{}, 'off'],
    [{ HOST: '::1' }, 'off'],
    [{ HOST: 'localhost' }, 'off'],
    [{ HOST: '0.0.0.0' }, 'key'],
    [{ HOST: '192.0.2.1' }, 'key'],
    [{ HOST: '0.0.0.0', DEVICE_API_AUTH: 'off' }, 'off'],
    [{ DEVICE_API_AUTH: 'key' }, 'key'],
    [{ NODE_ENV: 'production', HOST: '0.0.0.0', ...secret }, 'key'],
    [{ NODE_ENV: 'production', DEVICE_API_AUTH: 'off', DEVICE_API_ALLOW_OPEN: 'true', ...secret }, 'off'],
  ])('of %j is %s', (env, expected) => {
    expect(loadConfig(env).DEVICE_API_AUTH).toBe(expected);
  });

  it.each([[{}], [{ HOST: '0.0.0.0', DEVICE_API_AUTH: 'off' }]])('off prevents the start in production: %j', (env) => {
    expect(() => loadConfig({ NODE_ENV: 'production', ...secret, ...env })).toThrow(/DEVICE_API_ALLOW_OPEN/);
  });

  it('accepts no other value', () => {
    expect(() => loadConfig({ DEVICE_API_AUTH: 'open' })).toThrow(/DEVICE_API_AUTH/);
  });
});

describe('secrets', () => {
  it.each(['MEDIA_SIGNING_SECRET', 'CLIPS_SIGNING_SECRET', 'STREAM_TOKEN_SECRET'] as const)(
    '%s is required in production',
    (name) => {
      const { [name]: _left, ...others } = secret;
      expect(() => loadConfig({ NODE_ENV: 'production', DEVICE_API_AUTH: 'key', ...others })).toThrow(name);
    },
  );
});

describe('the defaults', () => {
  it('are those of the interface', () => {
    expect(loadConfig({})).toMatchObject({
      DEVICE_REPLY_TIMEOUT_MS: 90_000,
      REQUEST_TIMEOUT_MS: 95_000,
      RATE_LIMIT_READS_PER_SECOND: 100,
      RATE_LIMIT_READS_BURST: 200,
      RATE_LIMIT_COMMANDS_PER_MINUTE: 120,
      RATE_LIMIT_COMMANDS_BURST: 60,
      RATE_LIMIT_STREAM_OPENS_PER_MINUTE: 30,
      RATE_LIMIT_HEALTH_PER_SECOND: 20,
      RATE_LIMIT_HEALTH_BURST: 60,
      STREAM_TOKEN_SECONDS: 600,
      RATE_LIMIT_VIEWERS_PER_CHANNEL: 20,
      RATE_LIMIT_CHANNELS_PER_DEVICE: 16,
    });
  });
});

describe('WAKE_SMS_*', () => {
  it('are disabled without a URL', () => {
    expect(loadConfig({})).toMatchObject({ WAKE_SMS_AFTER_MS: 5_000, WAKE_SMS_EVERY_MS: 120_000 });
    expect(loadConfig({}).WAKE_SMS_URL).toBeUndefined();
  });

  it.each([
    ['WAKE_SMS_URL', 'ftp://sms.example.com?key=hidden'],
    ['WAKE_SMS_URL', 'sms.example.com/hidden'],
    ['WAKE_SMS_TOKEN', 'hidden\nx: y'],
    ['WAKE_SMS_NUMBER_PREFIX', '0086a'],
  ])('%s rejects %j without revealing secrets', (name, value) => {
    expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(name));
    expect(() => loadConfig({ [name]: value })).not.toThrow(/hidden/);
  });

  it('are logged without the secrets', () => {
    const config = loadConfig({ WAKE_SMS_URL: 'https://sms.example.com/?key=hidden', WAKE_SMS_TOKEN: 'hidden' });
    expect(redactConfig(configSchema, config)).toMatchObject({ WAKE_SMS_URL: 'set', WAKE_SMS_TOKEN: 'set' });
  });
});
