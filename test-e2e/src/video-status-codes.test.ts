import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { expectApiError, type HttpOptions, type HttpReply, send } from './testing/http.ts';
import { Viewer } from './testing/viewer.ts';

let harness: ProductHarness;
/** A regular terminal of the requests that have to be refused. None of them may reach it. */
let good: SimulatedTerminal;

beforeAll(async () => {
  harness = await joinSharedHarness();
  good = await harness.startTerminal({ edition: '2019', phone: uniquePhone(20) });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = (path: string, options?: HttpOptions): Promise<HttpReply> =>
  send(harness.product.runtime.base_url, `/api/v1${path}`, options);
const camera = (terminal: SimulatedTerminal, channel = 1): string => `imei=${terminal.phone}&channel=${channel}`;
const parseReply = (reply: HttpReply): [number, unknown] => [reply.status, JSON.parse(reply.text)];
const toExpectedResponse = (messageId: string, result: string): [number, unknown] => [
  200,
  { response_id: messageId, result },
];

describe('status 400', () => {
  it('a path that is not percent-encoded correctly', async () => {
    for (const path of ['/%zz', '/realtime/%', '/%E0%A4%A', '/health/%c3%28'])
      expect(expectApiError(await api(path), 400)).toContain('percent-encoding');
  });

  it('names the parameter and its allowed values', async () => {
    const sentence = async (query: string): Promise<string> =>
      expectApiError(await api(`/realtime/start-stream?${query}`), 400);
    expect(await sentence('channel=1')).toContain('imei');
    expect(await sentence(`imei=${good.phone}`)).toContain('channel');
    expect(await sentence(`${camera(good)}&data_type=9`)).toMatch(/data_type.*0, 1, 2, 3, 4, 5/);
  });
});

describe('status 404 and 405', () => {
  const commands = [
    '/realtime/start-stream',
    '/realtime/control-stream',
    '/history/list-videos',
    '/history/start-stream',
    '/history/control-stream',
  ];

  it('an unknown path is 404, in other spellings too', async () => {
    const paths = ['', '/', '/nothing', '/Health', '/realtime', '/realtime/start_stream', '/wakeup/x', '//health'];
    for (const path of paths)
      for (const method of ['GET', 'POST'])
        expect(expectApiError(await api(path, { method }), 404)).toContain(`There is no ${method}`);
  });

  it('another method of a known path is 405 and lists the allowed methods', async () => {
    const allowed: [path: string, allow: string][] = [
      ...[
        '/health',
        '/health/device',
        '/health/camera',
        '/realtime/stream.flv',
        '/history/stream.flv',
        '/videos/list',
      ].map((path): [string, string] => [path, 'GET, HEAD, OPTIONS']),
      ...['/wakeup', '/videos/upload', '/videos/control', ...commands].map((path): [string, string] => [
        path,
        'GET, OPTIONS',
      ]),
      ...['/send-control-command', '/send-text'].map((path): [string, string] => [path, 'POST, OPTIONS']),
      ['/videos', 'GET, HEAD, DELETE, OPTIONS'],
    ];
    for (const [path, allow] of allowed) {
      const others = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH'].filter((method) => !allow.includes(method));
      for (const method of others) {
        const reply = await api(`${path}?${camera(good)}`, { method });
        expectApiError(reply, 405);
        expect(reply.headers.allow).toBe(allow);
      }
      const options = await api(path, { method: 'OPTIONS' });
      expect(options).toMatchObject({ status: 204, text: '', headers: { allow } });
    }
  });

  it('HEAD responds like GET where GET changes nothing, and sends no command elsewhere', async () => {
    expect(await api('/health', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    expect(await api(`/health/device?imei=${good.phone}`, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
    expect(await api(`/health/device?imei=${uniquePhone()}`, { method: 'HEAD' })).toMatchObject({
      status: 503,
      text: '',
    });
    expect(await api(`/realtime/stream.flv?${camera(good, 7)}`, { method: 'HEAD' })).toMatchObject({ status: 404 });
    for (const path of ['/wakeup', '/videos/upload', ...commands]) {
      const reply = await api(`${path}?${camera(good)}&ctrl_instruction=0`, { method: 'HEAD' });
      expect(reply).toMatchObject({ status: 405, text: '', headers: { allow: 'GET, OPTIONS' } });
    }
    for (const command of [0x8204, 0x9101, 0x9102, 0x9201, 0x9202, 0x9205, 0x9206])
      expect(good.receivedFrames(command)).toEqual([]);
  });
});

describe('status 200', () => {
  it('health reports every component as healthy', async () => {
    const reply = await api('/health');
    const components = [
      'state_store',
      'message_broker',
      'database',
      'upload_server',
      'jt808_server',
      'jt1078_server',
    ].map((name) => [name, true] as const);
    expect(parseReply(reply)).toEqual([200, { healthy: true, components: Object.fromEntries(components) }]);
  });

  it('health of a device follows its connection', async () => {
    const terminal = await harness.startTerminal({ reconnect: false });
    const health = async () => parseReply(await api(`/health/device?imei=${terminal.phone}`));
    expect(await health()).toEqual([200, { healthy: true }]);
    terminal.dropConnection();
    await waitFor(async () => (await health())[0] === 503, 'the device to be disconnected');
    expect(await health()).toEqual([503, { healthy: false }]);
  });

  it('health of a camera is true only while it streams', async () => {
    const terminal = await harness.startTerminal();
    const health = async () => parseReply(await api(`/health/camera?${camera(terminal)}`));
    expect(await health()).toEqual([503, { healthy: false }]);
    expect(parseReply(await api(`/realtime/start-stream?${camera(terminal)}`))).toEqual(
      toExpectedResponse('0x9101', 'success'),
    );
    await waitFor(async () => (await health())[0] === 200, 'the camera to stream');
    expect(await health()).toEqual([200, { healthy: true }]);
    expect(parseReply(await api(`/health/camera?${camera(terminal, 2)}`))).toEqual([503, { healthy: false }]);
    await api(`/realtime/control-stream?${camera(terminal)}&ctrl_instruction=0`);
    await waitFor(async () => (await health())[0] === 503, 'the camera to have stopped');
  }, 60_000);

  it('unknown query parameters are ignored', async () => {
    const odd = 'x=1&x=2&__proto__=3&constructor=a&CHANNEL=9&toString=&=&%00=1';
    expect((await api(`/health?${odd}`)).status).toBe(200);
    expect((await api(`/health/device?imei=${good.phone}&${odd}`)).status).toBe(200);
    const terminal = await harness.startTerminal();
    expect(parseReply(await api(`/wakeup?${odd}&imei=${terminal.phone}&channel=nonsense`))).toEqual([
      200,
      { result: 'success' },
    ]);
    const ctrl = `/realtime/control-stream?${camera(terminal)}&ctrl_instruction=2&host=%20&data_type=99&${odd}`;
    expect(parseReply(await api(ctrl))).toEqual(toExpectedResponse('0x9102', 'failure'));
  });

  it.each([
    [1, 'failure'],
    [2, 'incorrectInfo'],
    [3, 'unsupported'],
  ] as const)(
    'result %d of a terminal that refuses is %s, and its channel does not stream afterwards',
    async (result, name) => {
      const terminal = await harness.startTerminal();
      terminal.setBehaviour({ kind: 'refusing', result });
      for (let times = 0; times < 2; times += 1)
        expect(parseReply(await api(`/realtime/start-stream?${camera(terminal)}`))).toEqual(
          toExpectedResponse('0x9101', name),
        );
      // The terminal received a second command: the refusal left no state.
      expect(terminal.receivedFrames(0x9101)).toHaveLength(2);
      expect(parseReply(await api(`/realtime/control-stream?${camera(terminal)}&ctrl_instruction=1`))).toEqual(
        toExpectedResponse('0x9102', name),
      );
      expectApiError(await api(`/realtime/stream.flv?${camera(terminal)}`), 404);
      expect((await api(`/health/camera?${camera(terminal)}`)).status).toBe(503);
      // Any reply proves that it is awake.
      expect(parseReply(await api(`/wakeup?imei=${terminal.phone}`))).toEqual([200, { result: 'success' }]);
      terminal.resetBehaviour();
      expect(parseReply(await api(`/realtime/start-stream?${camera(terminal)}`))).toEqual(
        toExpectedResponse('0x9101', 'success'),
      );
    },
  );
});

describe('status 429 by quota', () => {
  it('a channel has 20 viewers, the next is refused until one disconnects', async () => {
    const terminal = await harness.startTerminal();
    await api(`/realtime/start-stream?${camera(terminal)}`);
    const path = `/realtime/stream.flv?${camera(terminal)}`;
    const viewers = Array.from({ length: 20 }, () => new Viewer(`${harness.product.runtime.base_url}/api/v1${path}`));
    await waitFor(() => viewers.every((viewer) => viewer.pictures.length > 0), '20 viewers', 60_000);
    const refused = await api(path);
    expectApiError(refused, 429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    viewers.pop()?.leave();
    const next = await waitFor(async () => {
      const viewer = new Viewer(`${harness.product.runtime.base_url}/api/v1${path}`);
      await waitFor(() => viewer.status !== undefined, 'a response');
      if (viewer.status === 200) return viewer;
      viewer.leave();
      return undefined;
    }, 'a free slot');
    for (const viewer of [...viewers, next]) viewer.leave();
  }, 120_000);

  it('a device streams on 16 channels, the next is refused without a command', async () => {
    const terminal = await harness.startTerminal({ channels: 17, media: 'neverConnect' });
    for (let channel = 1; channel <= 16; channel += 1)
      expect((await api(`/realtime/start-stream?${camera(terminal, channel)}`)).status).toBe(200);
    const refused = await api(`/realtime/start-stream?${camera(terminal, 17)}`);
    expectApiError(refused, 429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(terminal.receivedFrames(0x9101)).toHaveLength(16);
    expect((await api(`/realtime/start-stream?${camera(terminal, 16)}`)).status).toBe(200);
  }, 60_000);
});

describe('properties of all responses', () => {
  it("the caller's X-Request-Id, or a new one", async () => {
    const id = 'Partner-42.a_b';
    const paths = ['/health', `/wakeup?imei=${uniquePhone()}`, '/wakeup', '/nothing', '/%zz', '/openapi.json'];
    for (const path of paths) {
      expect((await api(path, { headers: { 'x-request-id': id } })).headers['x-request-id']).toBe(id);
      const requestIds = [await api(path), await api(path)].map((reply) => reply.headers['x-request-id']);
      for (const one of requestIds) expect(one).toMatch(/^[A-Za-z0-9-]{16,64}$/);
      expect(requestIds[0]).not.toBe(requestIds[1]);
    }
    for (const odd of ['a b', 'x'.repeat(65), 'ä', '{}']) {
      const reply = await api('/health', { headers: { 'x-request-id': Buffer.from(odd).toString('latin1') } });
      expect(reply.headers['x-request-id']).toMatch(/^[A-Za-z0-9-]{16,64}$/);
    }
  });

  it('no header that reveals the server software', async () => {
    for (const path of ['/health', '/nothing']) {
      const { headers } = await api(path);
      expect(headers['x-powered-by']).toBeUndefined();
      expect(headers['x-content-type-options']).toBe('nosniff');
    }
  });
});

describe('documents and pages outside the API', () => {
  it('the OpenAPI document is the checked-in one and describes every endpoint', async () => {
    const reply = await api('/openapi.json');
    const document = JSON.parse(reply.text) as { openapi: string; paths: Record<string, unknown> };
    expect(document).toEqual(JSON.parse(readFileSync(resolve('services/device-api/openapi.json'), 'utf8')));
    expect(document.openapi).toMatch(/^3\.1\./);
    const paths = Object.keys(document.paths).map((path) => path.replace(/^\/api\/v1/, ''));
    const beyond = ['/videos/file'];
    expect(paths.filter((path) => !beyond.includes(path)).toSorted()).toEqual([
      '/health',
      '/health/camera',
      '/health/device',
      '/history/control-stream',
      '/history/list-videos',
      '/history/start-stream',
      '/history/stream.flv',
      '/realtime/control-stream',
      '/realtime/start-stream',
      '/realtime/stream.flv',
      '/send-control-command',
      '/send-text',
      '/videos',
      '/videos/control',
      '/videos/list',
      '/videos/upload',
      '/wakeup',
    ]);
  });

  it('/docs redirects to a page that works without internet access', async () => {
    const { base_url: base } = harness.product.runtime;
    const response = await fetch(`${base}/docs`);
    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ]);
    const page = await response.text();
    expect(page).toMatch(/swagger-ui/);
    expect(page).not.toMatch(/(?:src|href)="https?:/);
    const assets = [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, asset = '']) => new URL(asset, response.url));
    expect(assets.length).toBeGreaterThan(1);
    for (const asset of assets) expect((await fetch(asset)).status).toBe(200);
  });

  it('everything outside /api/v1 belongs to the platform: the dashboard, a page for developers, and errors with a code', async () => {
    const { base_url: base } = harness.product.runtime;
    expect((await send(base, '/')).text).toContain('id="dashboard-config"');
    const start = await send(base, '/developers');
    expect(start).toMatchObject({ status: 200, headers: { 'content-type': expect.stringContaining('text/html') } });
    expect(start.text).toContain('/api/v1/docs');
    for (const path of ['/nothing', '/api/v1x', '/apiv1', '/%zz']) {
      const reply = await send(base, path);
      const body = JSON.parse(reply.text) as Record<string, unknown>;
      expect(body).toEqual({
        status: reply.status,
        error: expect.any(String),
        code: expect.stringMatching(/^[a-z_]+$/),
        request_id: reply.headers['x-request-id'],
      });
      expect([400, 401, 404]).toContain(reply.status);
    }
    expect(JSON.parse((await send(base, '/nothing')).text)).toMatchObject({ status: 404, code: 'not_found' });
  });
});
