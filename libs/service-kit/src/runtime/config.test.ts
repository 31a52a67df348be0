import { describe, expect, it, jest } from '@jest/globals';
import { ConfigError, commonEnv, envSchema, isLoopback, readEnv, redactConfig } from './config.ts';

const schema = envSchema({
  PORT: { type: 'integer', minimum: 0, maximum: 65_535, default: 8080, description: 'a port' },
  OPEN: { type: 'boolean', default: false, description: 'a switch' },
  MODE: { type: 'string', enum: ['off', 'key'], optional: true, description: 'a choice' },
  SECRET: { type: 'string', minLength: 8, secret: true, description: 'a secret' },
  STORE_URL: { type: 'string', default: 'store://me:pass@host/x', description: 'a store' },
});

describe('readEnv', () => {
  it('converts the values and applies defaults', () => {
    expect(readEnv(schema, { SECRET: 'long enough', PORT: '0', OPEN: '1', OTHER: 'x' })).toEqual({
      PORT: 0,
      OPEN: true,
      SECRET: 'long enough',
      STORE_URL: 'store://me:pass@host/x',
    });
  });

  it('treats an empty variable as absent', () => {
    expect(readEnv(schema, { SECRET: 'long enough', PORT: '', MODE: '' })).toMatchObject({ PORT: 8080 });
  });

  it('lists every fault in one error without secrets', () => {
    const wrong = () => readEnv(schema, { PORT: '65536', OPEN: 'yes', MODE: 'open', SECRET: 'hunter2' });
    expect(wrong).toThrow(ConfigError);
    for (const part of [/PORT/, /OPEN/, /MODE/, /SECRET/]) expect(wrong).toThrow(part);
    expect(wrong).not.toThrow(/hunter2/);
  });

  it('reads a variable by its former name, with a warning, unless it has the new one', () => {
    const renamed = envSchema({
      WAIT_MS: { type: 'integer', default: 5, description: 'a wait', formerName: 'PATIENCE_MS' },
    });
    const emitWarning = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    try {
      expect(readEnv(renamed, { PATIENCE_MS: '7', WAIT_MS: '8' })).toEqual({ WAIT_MS: 8 });
      expect(readEnv(renamed, {})).toEqual({ WAIT_MS: 5 });
      expect(emitWarning).not.toHaveBeenCalled();
      expect(readEnv(renamed, { PATIENCE_MS: '7' })).toEqual({ WAIT_MS: 7 });
      expect(emitWarning).toHaveBeenCalledWith(
        'PATIENCE_MS is now WAIT_MS; the former name will not work in the next release',
        { type: 'DeprecationWarning', code: 'RENAMED_PATIENCE_MS' },
      );
    } finally {
      emitWarning.mockRestore();
    }
  });

  it('reports required variables', () => {
    expect(() => readEnv(schema, {})).toThrow(/SECRET is required \(a secret\)/);
  });

  it.each(['1e3', '0x10', ' 80', '80.0', 'eighty', '+80'])('rejects %j as an integer', (value) => {
    expect(() => readEnv(schema, { SECRET: 'long enough', PORT: value })).toThrow(/PORT/);
  });

  it('has defaults for the settings of all services', () => {
    expect(readEnv(commonEnv, {})).toMatchObject({ HOST: '127.0.0.1', LOG_LEVEL: 'info', NODE_ENV: 'development' });
  });
});

describe('redactConfig', () => {
  it('hides secrets and credentials in URLs', () => {
    expect(redactConfig(schema, readEnv(schema, { SECRET: 'long enough' }))).toEqual({
      PORT: 8080,
      OPEN: false,
      MODE: undefined,
      SECRET: 'set',
      STORE_URL: 'store://***@host/x',
    });
  });
});

describe('redactConfig with several servers', () => {
  it.each([
    ['nats://me:pass@one:4222,nats://me:pass@two:4222', 'nats://***@one:4222,nats://***@two:4222'],
    ['nats://one:4222, nats://token@two:4222', 'nats://one:4222, nats://***@two:4222'],
    ['redis://:p@ss@host:6379/0', 'redis://***@host:6379/0'],
    ['mongodb://me:pa,ss@host/fleet', 'mongodb://***@host/fleet'],
    ['nats://one:4222,tok@two:4222', 'nats://***@two:4222'],
    ['mongodb://me:pass@one,two:27018/fleet?a=b@c', 'mongodb://***@one,two:27018/fleet?a=b@c'],
    ['redis+cluster://:a@b:1,c:2', 'redis+cluster://***@b:1,c:2'],
    ['redis+sentinel://:a@b/fleet?sentinel_password=c&x=1', 'redis+sentinel://***@b/fleet?sentinel_password=***&x=1'],
  ])('hides the credentials of each: %s', (url, redacted) => {
    expect(redactConfig(schema, { ...readEnv(schema, { SECRET: 'long enough' }), STORE_URL: url })).toMatchObject({
      STORE_URL: redacted,
    });
  });
});

describe('isLoopback', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.1.2.3', true],
    ['::1', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['128.0.0.1', false],
    ['127.0.0.1.example', false],
  ])('of %s is %p', (host, expected) => {
    expect(isLoopback(host)).toBe(expected);
  });
});
