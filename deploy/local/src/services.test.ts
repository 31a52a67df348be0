import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { readOptions } from './options.ts';
import { planPorts } from './ports.ts';
import type { ServicesContext } from './service-plans.ts';
import { adminUrls, proxySpec, serviceSpecs } from './services.ts';

function createContext(env: NodeJS.ProcessEnv): ServicesContext {
  return {
    options: readOptions([], env),
    ports: planPorts(0),
    secrets: {
      gatewayAuthSecret: 'g',
      mediaSigningSecret: 'm',
      clipsSigningSecret: 'c',
      streamTokenSecret: 's',
      encryptionKey: 'e',
      chatGenericSecret: 'g',
      demoPassword: 'p',
      demoApiKey: 'fk_k',
    },
    urls: {
      NATS_URL: 'nats://n',
      REDIS_URL: 'redis://r',
      MONGODB_URL: 'mongodb://m/fleet',
      FFMPEG_PATH: '/usr/bin/ffmpeg',
    },
    logDir: '/logs',
  };
}

function getEnv(name: string, env: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  return serviceSpecs(createContext(env)).find((spec) => spec.name === name)?.env ?? {};
}

describe('the services of a start', () => {
  it('are six, one of them as two processes, each with the backends, its own port and its own POD_ID', () => {
    const specs = serviceSpecs(createContext({ POD_ID: 'shared', HTTP_PORT: '1', ADMIN_PORT: '2' }));
    expect(new Set(specs.map(({ args }) => args.at(-1))).size).toBe(6);
    expect(new Set(specs.map(({ name }) => name)).size).toBe(7);
    expect(new Set(specs.map(({ env }) => env['ADMIN_PORT'])).size).toBe(7);
    expect(specs.flatMap(({ env }) => env['HTTP_PORT'] ?? [])).toEqual(['8085', '8083', '8082', '8086']);
    for (const { env } of specs) {
      expect(env).toMatchObject({ NATS_URL: 'nats://n', MONGODB_URL: 'mongodb://m/fleet', HOST: '127.0.0.1' });
      expect(env['POD_ID']).not.toBe('shared');
    }
  });

  it('receive the settings of the environment', () => {
    expect(getEnv('device-api', { DEVICE_REPLY_TIMEOUT_MS: '500' })['DEVICE_REPLY_TIMEOUT_MS']).toBe('500');
  });

  it('leave a gateway its full time for commands when it is replaced, and shorten it when everything stops', () => {
    const gateway = serviceSpecs(createContext({})).find(({ name }) => name === 'jt808-gateway');
    expect(gateway?.env['DRAIN_COMMANDS_MS']).toBeUndefined();
    expect(gateway?.forceStopAfterMs).toBeLessThan(10_000);
  });

  it('receive only the secrets that they need', () => {
    expect(getEnv('jt808-gateway')['GATEWAY_AUTH_SECRET']).toBe('g');
    expect(getEnv('device-api')['GATEWAY_AUTH_SECRET']).toBeUndefined();
    expect(getEnv('jt1078-media')['MEDIA_SIGNING_SECRET']).toBe(getEnv('device-api')['MEDIA_SIGNING_SECRET']);
    expect(getEnv('platform-api')['BOOTSTRAP_API_KEY']).toBe('fk_k');
    expect(getEnv('upload-ftp')['BOOTSTRAP_API_KEY']).toBeUndefined();
    expect(getEnv('upload-ftp')['CLIPS_SIGNING_SECRET']).toBe(getEnv('device-api')['CLIPS_SIGNING_SECRET']);
    // It requests pictures and clips by URLs that it signs.
    expect(getEnv('platform-api')['CLIPS_SIGNING_SECRET']).toBe(getEnv('upload-ftp')['CLIPS_SIGNING_SECRET']);
    expect(getEnv('jt808-gateway')['CLIPS_SIGNING_SECRET']).toBeUndefined();
    expect(getEnv('device-api')['STREAM_TOKEN_SECRET']).toBe('s');
    expect(getEnv('device-api')['PUBLIC_BASE_URL']).toBe(getEnv('platform-api')['PUBLIC_BASE_URL']);
    expect(getEnv('platform-api')['STREAM_TOKEN_SECRET']).toBe('s');
    expect(getEnv('jt1078-media')['STREAM_TOKEN_SECRET']).toBeUndefined();
    expect(getEnv('platform-api')).toMatchObject({ ENCRYPTION_KEY: 'e', CHAT_GENERIC_SECRET: 'g' });
    // It decrypts the secrets that platform-api encrypts.
    expect(getEnv('webhook-dispatcher')['ENCRYPTION_KEY']).toBe('e');
    expect(getEnv('device-api')['ENCRYPTION_KEY']).toBeUndefined();
  });

  it('include the sample roads and toll gates, unless other files are configured', () => {
    for (const name of ['ROAD_NETWORK_FILE', 'TOLL_GATES_FILE']) {
      expect(existsSync(getEnv('platform-api')[name] ?? '')).toBe(true);
      expect(getEnv('platform-api', { [name]: '/mnt/own' })[name]).toBe('/mnt/own');
      expect(getEnv('platform-api', { [name]: '' })[name]).toBe('');
      expect(getEnv('device-api')[name]).toBeUndefined();
    }
  });

  it('require the key when they listen on more than loopback, and keep internal services on loopback', () => {
    expect(getEnv('device-api')['DEVICE_API_AUTH']).toBe('off');
    const open = { HOST: '0.0.0.0' };
    expect(getEnv('device-api', open)).toMatchObject({ DEVICE_API_AUTH: 'key', HOST: '0.0.0.0' });
    expect(getEnv('device-api', open)['MEDIA_PUBLIC_HOST']).not.toBe('0.0.0.0');
    expect(getEnv('platform-api', open)['HOST']).toBe('127.0.0.1');
    expect(getEnv('device-api', { ...open, DEVICE_API_AUTH: 'off', MEDIA_PUBLIC_HOST: 'cams.example' })).toMatchObject({
      DEVICE_API_AUTH: 'off',
      MEDIA_PUBLIC_HOST: 'cams.example',
    });
  });

  it('serve health and metrics on loopback only', () => {
    const context = createContext({ HOST: '0.0.0.0' });
    expect(adminUrls(context)['device-api']).toBe('http://127.0.0.1:8091');
    for (const { env } of serviceSpecs(context)) expect(env['ADMIN_HOST']).toBe('127.0.0.1');
  });

  it('give the proxy addresses that it can connect to', () => {
    const context = createContext({ HOST: '0.0.0.0' });
    expect(proxySpec(context).env).toMatchObject({
      HOST: '0.0.0.0',
      DEVICE_API_URL: 'http://127.0.0.1:8083',
      PLATFORM_API_URL: 'http://127.0.0.1:8082',
    });
  });
});
