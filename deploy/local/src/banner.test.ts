import { describe, expect, it } from '@jest/globals';
import { banner, exampleCommands } from './banner.ts';
import type { Runtime } from './runtime-file.ts';

const runtime: Runtime = {
  pid: 1,
  started_at: '2026-01-01T00:00:00.000Z',
  data_dir: '/data',
  base_url: 'http://127.0.0.1:8180',
  video_url: 'http://127.0.0.1:8181',
  ws_url: 'ws://127.0.0.1:8180/ws',
  device_api: { url: 'http://127.0.0.1:8183', api_key: 'fk_abc', auth: 'off' },
  platform_api: { url: 'http://127.0.0.1:8182' },
  video_service: { url: 'http://127.0.0.1:8181' },
  jt808: { host: '127.0.0.1', port: 7908 },
  jt1078: { host: '127.0.0.1', live_port: 7178, history_port: 7179, talk_port: 7190 },
  ftp: { host: '127.0.0.1', port: 2221 },
  attachments: { host: '127.0.0.1', port: 7181 },
  demo: {
    email: 'demo@fleet.example',
    password: 'p',
    api_key: 'fk_abc',
    sign_in_url: 'http://127.0.0.1:8180/demo/sign-in',
  },
  chat: { generic_secret: 'g' },
  backends: { nats_url: '', redis_url: '', mongodb_url: '', ffmpeg: '' },
  health: {},
  processes: {},
  simulated_terminals: [
    { imei: '013800000001', edition: '2013', channels: 2 },
    { imei: '00000000013800000002', edition: '2019', channels: 2 },
  ],
};

describe('the output of a start', () => {
  it('contains a health request for every simulated terminal', () => {
    const state = exampleCommands(runtime).find(({ title }) => title.includes('connected'));
    expect(state?.command).toContain("'http://127.0.0.1:8180/api/v1/health/device?imei=013800000001'");
    expect(state?.command).toContain('imei=00000000013800000002');
  });

  it('quotes every URL, because & would end the command', () => {
    for (const { command } of exampleCommands(runtime)) {
      expect(command.replaceAll(/'[^']*'/g, '')).not.toContain('&');
    }
  });

  it('sends the key only where it is required', () => {
    expect(exampleCommands(runtime).some(({ command }) => command.includes('x-api-key'))).toBe(false);
    const locked: Runtime = { ...runtime, device_api: { ...runtime.device_api, auth: 'key' } };
    expect(exampleCommands(locked).every(({ command }) => command.includes("-H 'x-api-key: fk_abc'"))).toBe(true);
  });

  it('contains the addresses, the key and the terminals', () => {
    const text = banner(runtime);
    for (const part of [
      'http://127.0.0.1:8180/api/v1',
      'http://127.0.0.1:8180/demo/sign-in',
      '7178 live, 7179 history',
      'fk_abc',
      '013800000001  JT/T 808-2013',
    ]) {
      expect(text).toContain(part);
    }
  });
});
