import { writeFileSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiRequest, createApiSender, deviceCommands, parseReply, span } from './testing/device-api.ts';
import { buildRequest, type Endpoint, listEndpoints } from './testing/endpoints.ts';
import { killProcess, stopBackend, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness, shortWaitSettings, shortWaits, uniquePhone } from './testing/harness.ts';
import { expectApiError } from './testing/http.ts';
import { createRecording, IdleCamera, requestUpload, type UploadResponse } from './testing/idle-camera.ts';
import { invalidBodies, invalidControlBodies, invalidTextBodies } from './testing/invalid-parameters.ts';
import { createGeneralResponse } from './testing/responses.ts';
import { Viewer } from './testing/viewer.ts';

// Tests the table of errors of the Device API row by row. Requests that hit a limit (429, and 503 of the request limit) are
// in limits.test.ts. The timeouts of a real start (90 and 15 s) are in device-reply-wait.test.ts.

const { deviceReplyTimeoutMs, uploadControlTimeoutMs, firstPacketWaitMs } = shortWaits;

let harness: DedicatedHarness;
/** Terminal of the requests that have to be refused. None of them may reach it. */
let untouched: SimulatedTerminal;

beforeAll(async () => {
  harness = await leaseHarness(shortWaitSettings);
  untouched = await harness.startTerminal({ edition: '2019', phone: uniquePhone(20) });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = createApiSender(() => harness);
const noSuchId = 'f'.repeat(24);
const camera = (terminal: { phone: string }): string => `imei=${terminal.phone}&channel=1`;

async function fetchUpload(videoId: string): Promise<UploadResponse> {
  return JSON.parse((await api(`/videos?video_id=${videoId}`)).text) as UploadResponse;
}

const waitForStatus = (videoId: string, status: string): Promise<unknown> =>
  waitFor(async () => (await fetchUpload(videoId)).status === status, `the upload to be ${status}`);

describe('status 400', () => {
  const endpoints = listEndpoints('013900000001').map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint]);
  /** The same requests for the terminal that must not receive anything. */
  const about = ({ method, path }: Endpoint): Endpoint => {
    const found = listEndpoints(untouched.phone).find((one) => one.method === method && one.path === path);
    if (found === undefined) throw new Error('no such endpoint');
    return found;
  };

  it.each(endpoints as [string, Endpoint][])(
    'a parameter is missing or invalid, for each endpoint: %s',
    async (_name, one) => {
      const endpoint = about(one);
      const wrong: string[] = [];
      for (const { name, invalidQueries, isRequired } of endpoint.parameters) {
        const missing = isRequired ? ([[`no ${name}`, '']] as const) : [];
        for (const [what, query] of [...missing, ...invalidQueries]) {
          const reply = await api(buildRequest(endpoint, { without: name, query }));
          const isNamed = reply.text.includes(name);
          if (reply.status === 400 && isNamed) expectApiError(reply, 400);
          else wrong.push(`${what}: ${reply.status} ${reply.text.slice(0, 200)}`);
        }
      }
      expect(wrong).toEqual([]);
    },
    60_000,
  );

  it.each([
    ['/send-control-command', invalidControlBodies],
    ['/send-text', invalidTextBodies],
  ] as const)('the body is missing or invalid: %s', async (endpoint, faults) => {
    const path = `${endpoint}?imei=${untouched.phone}`;
    for (const [what, body] of invalidBodies)
      expect([what, expectApiError(await api({ method: 'POST', path, body }), 400)]).toEqual([
        what,
        expect.stringMatching(/body/),
      ]);
    for (const [body, named] of faults)
      expect(expectApiError(await api({ method: 'POST', path, body }), 400)).toContain(named);
  });

  const spans: [endpoint: string, more: string][] = [
    ['/history/list-videos', ''],
    ['/history/start-stream', '&resource_type=3&stream_type=1&memory_type=1'],
    ['/videos/upload', ''],
  ];
  const refused = async (endpoint: string, more: string): Promise<string> =>
    expectApiError(await api(`${endpoint}?${camera(untouched)}${more}`), 400);

  it.each(spans)('start_time not before end_time: %s', async (endpoint, more) => {
    const sentence = 'The parameter start_time must be before end_time.';
    for (const [start, end] of [
      ['2026-08-01T10:00:01Z', '2026-08-01T10:00:00Z'],
      ['2026-08-01T10:00:00Z', '2026-08-01T10:00:00Z'],
      // Compares times, not their spelling; fractions are dropped before.
      ['2026-08-01T10:00:00Z', '2026-08-01T18:00:00%2B08:00'],
      ['2026-08-01T10:00:00-01:00', '2026-08-01T10:30:00Z'],
      ['2026-08-01T10:00:00.1Z', '2026-08-01T10:00:00.9Z'],
    ])
      expect(await refused(endpoint, `${more}&start_time=${start}&end_time=${end}`)).toBe(sentence);
  });

  /** The first and last second of the camera's 100 years, and those beyond, each with several offsets. */
  const early = ['1999-12-31T15:59:59Z', '1999-12-31T23:59:59%2B08:00', '2000-01-01T05:59:59%2B14:00'];
  const late = ['2099-12-31T16:00:00Z', '2100-01-01T00:00:00%2B08:00', '2099-12-31T04:00:00-12:00'];
  const [first, last] = ['1999-12-31T16:00:00Z', '2099-12-31T15:59:59Z'];

  it.each(spans)(
    "a time outside 2000-2099 on the camera's clock, whatever the caller's offset: %s",
    async (path, more) => {
      for (const time of early)
        expect(await refused(path, `${more}&start_time=${time}&end_time=${last}`)).toMatch(/start_time.*2000 to 2099/);
      for (const time of late)
        expect(await refused(path, `${more}&start_time=${first}&end_time=${time}`)).toMatch(/end_time.*2000 to 2099/);
    },
  );

  it("a drag_playback_time outside 2000-2099 on the camera's clock, or missing with a seek", async () => {
    const seek = (time: string): Promise<string> => refused('/history/control-stream', `&playback_control=5${time}`);
    for (const time of [...early, ...late])
      expect(await seek(`&drag_playback_time=${time}`)).toMatch(/drag_playback_time.*2000 to 2099/);
    expect(await seek('')).toContain('drag_playback_time');
  });

  it("accepts a time inside 2000-2099 on the camera's clock, even if it is 1999 or 2100 with the caller's offset", async () => {
    const terminal = await harness.startTerminal();
    const list = (start: string, end: string): Promise<unknown> =>
      api(`/history/list-videos?${camera(terminal)}&start_time=${start}&end_time=${end}`).then(parseReply);
    const empty = [200, { total_resources: 0, resources: [] }];
    expect(await list(first, last)).toEqual(empty);
    expect(await list('1999-12-31T04:00:00-12:00', '2100-01-01T05:59:59%2B14:00')).toEqual(empty);
    const bounds = terminal.receivedFrames(0x9205).map(({ body }) => body.subarray(1, 13).toString('hex'));
    expect(bounds).toEqual(['000101000000991231235959', '000101000000991231235959']);
  });

  it('all three networks are disallowed', async () => {
    const sentence = await refused('/videos/upload', `&${span().query}&wifi=false&lan=false&mobile_network=false`);
    expect(sentence).toMatch(/wifi, lan and mobile_network/);
  });

  it.each([
    ['GET', '/videos?'],
    ['DELETE', '/videos?'],
    ['GET', '/videos/control?action=0&'],
  ])('video_id is missing or not a 24-character hex id: %s %s', async (method, path) => {
    for (const query of ['', 'video_id=', `video_id=${'0'.repeat(23)}`, `video_id=0x${'0'.repeat(22)}`])
      expect(expectApiError(await api({ method, path: path + query }), 400)).toContain('video_id');
    // Upper-case digits are valid.
    expectApiError(await api({ method, path: `${path}video_id=${noSuchId.toUpperCase()}` }), 404);
  });

  it('sends nothing to the device', () => {
    const responseIds = [0x8001, 0x8100];
    const commands = untouched.frames.filter((one) => one.direction === 'in' && !responseIds.includes(one.messageId));
    expect(commands).toEqual([]);
  });
});

describe('status 403', () => {
  it('DELETE /videos for an upload that is uploading or paused', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    const remove = (): Promise<string> =>
      api({ method: 'DELETE', path: `/videos?video_id=${videoId}` }).then((reply) => expectApiError(reply, 403));
    expect(await remove()).toBe('The upload is uploading: cancel it first.');
    expect((await api(`/videos/control?video_id=${videoId}&action=0`)).status).toBe(200);
    expect(await remove()).toBe('The upload is paused: cancel it first.');
    expect((await fetchUpload(videoId)).status).toBe('paused');
  });
});

describe('status 404', () => {
  it.each(deviceCommands.map((command) => [command.endpoint, command] as const))(
    'device not connected: %s',
    async (_endpoint, { request }) => {
      for (const imei of [uniquePhone(), uniquePhone(20)])
        expect(expectApiError(await api(request(imei)), 404)).toBe('The device is not connected.');
    },
  );

  it('device not connected: /videos/control of its upload', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    await idle.terminal.stop();
    await waitFor(
      async () => (await api(`/health/device?imei=${idle.phone}`)).status === 503,
      'the device to disconnect',
    );
    const reply = await api(`/videos/control?video_id=${videoId}&action=0`);
    expect(expectApiError(reply, 404)).toBe('The device is not connected.');
    expect((await fetchUpload(videoId)).status).toBe('uploading');
  });

  it('no upload with this video_id', async () => {
    const requests: ApiRequest[] = [
      { path: `/videos?video_id=${noSuchId}` },
      { path: `/videos?video_id=${noSuchId}`, method: 'DELETE' },
      ...[0, 1, 2].map((action) => ({ path: `/videos/control?video_id=${noSuchId}&action=${action}` })),
    ];
    for (const request of requests)
      expect(expectApiError(await api(request), 404)).toBe('There is no upload with this video_id.');
  });

  it('stream.flv requested for a channel that is not streaming: live video or a recording', async () => {
    const terminal = await harness.startTerminal({ recordings: [createRecording()] });
    for (const { phone } of [terminal, { phone: uniquePhone() }])
      for (const kind of ['realtime', 'history'])
        expect(expectApiError(await api(`/${kind}/stream.flv?imei=${phone}&channel=7`), 404)).toMatch(/channel/);
    // The same channel streams the other kind in each case.
    expect((await api(`/realtime/start-stream?${camera(terminal)}`)).status).toBe(200);
    expectApiError(await api(`/history/stream.flv?${camera(terminal)}`), 404);
  });
});

describe('status 409', () => {
  it('the upload control action does not fit the status: every such combination', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    const act = (action: number) => api(`/videos/control?video_id=${videoId}&action=${action}`);
    const refuse = async (status: string, ...actions: number[]): Promise<void> => {
      for (const action of actions)
        expect(expectApiError(await act(action), 409)).toBe(`The action does not fit an upload that is ${status}.`);
      expect((await fetchUpload(videoId)).status).toBe(status);
    };
    await refuse('uploading', 1);
    expect((await act(0)).status).toBe(200);
    await refuse('paused', 0);
    expect((await act(2)).status).toBe(200);
    await refuse('cancelled', 0, 1, 2);
    // The camera received only the two valid actions.
    expect(idle.terminal.receivedFrames(0x9207)).toHaveLength(2);
    const failed = await requestUpload(api, idle.phone, 1);
    idle.sendCompletion(1);
    await waitForStatus(failed, 'failed');
    for (const action of [0, 1, 2])
      expect(expectApiError(await api(`/videos/control?video_id=${failed}&action=${action}`), 409)).toContain('failed');
  }, 60_000);

  it('the status changed concurrently: the upload ends before the camera replies', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    idle.holdResponses();
    const overtaken = api(`/videos/control?video_id=${videoId}&action=0`);
    await waitFor(() => idle.terminal.receivedFrames(0x9207).length === 1, 'the pause command to be sent');
    idle.sendCompletion(1);
    await waitForStatus(videoId, 'failed');
    idle.release();
    expect(expectApiError(await overtaken, 409)).toContain('has changed: it is failed');
  }, 60_000);

  it('the camera is busy with another upload: on resume and on a new request', async () => {
    const idle = await IdleCamera.start(harness, { channels: 2 });
    const paused = await requestUpload(api, idle.phone);
    expect((await api(`/videos/control?video_id=${paused}&action=0`)).status).toBe(200);
    const running = await requestUpload(api, idle.phone, 1);
    const sentence = 'The camera is uploading another clip.';
    expect(expectApiError(await api(`/videos/control?video_id=${paused}&action=1`), 409)).toBe(sentence);
    expect((await fetchUpload(paused)).status).toBe('paused');
    // The device is busy, not the channel.
    for (const channel of [1, 2]) {
      const request = `/videos/upload?imei=${idle.phone}&channel=${channel}&${span(2).query}`;
      expect(expectApiError(await api(request), 409)).toBe(sentence);
    }
    expect(idle.terminal.receivedFrames(0x9206)).toHaveLength(2);
    expect((await api(`/videos/control?video_id=${running}&action=2`)).status).toBe(200);
    expect((await api(`/videos/control?video_id=${paused}&action=1`)).status).toBe(200);
  });
});

describe('status 413', () => {
  it.each([
    ['/send-control-command', { command: 8 }],
    ['/send-text', { text: 'x' }],
  ])('request body larger than 16 KiB: %s', async (endpoint, fields) => {
    const terminal = await harness.startTerminal({ respond: (message) => [createGeneralResponse(message)] });
    const path = `${endpoint}?imei=${terminal.phone}`;
    const toHexBody = (bytes: number): string => JSON.stringify(fields).padEnd(bytes);
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }])
      for (const bytes of [16_385, 100_000])
        expectApiError(await api({ method: 'POST', path, body: toHexBody(bytes) }, { headers }), 413);
    // The size is checked before any other fault of the body.
    expectApiError(await api({ method: 'POST', path, body: 'x'.repeat(16_385) }), 413);
    expect(terminal.frames.filter(({ messageId }) => [0x8105, 0x8300].includes(messageId))).toEqual([]);
    expect((await api({ method: 'POST', path, body: toHexBody(16_384) })).status).toBe(200);
  });
});

describe('status 502', () => {
  it.each(deviceCommands.map((command) => [command.endpoint, command] as const))(
    "the device's reply could not be read: %s",
    async (_endpoint, { request, messageId }) => {
      const terminal = await harness.startTerminal({ recordings: [createRecording()] });
      terminal.setBehaviour({ kind: 'garbage', form: 'cutBody' });
      expect(expectApiError(await api(request(terminal.phone)), 502)).toMatch(
        /^The device's reply could not be read: /,
      );
      expect(terminal.receivedFrames(messageId)).toHaveLength(1);
      terminal.resetBehaviour();
      expect((await api(request(terminal.phone))).status).toBe(200);
    },
  );

  it("the device's reply could not be read: a result outside the standard, to each command", async () => {
    const respond = (message: { messageId: number; serial: number }) => [createGeneralResponse(message, 9)];
    for (const { request, endpoint } of deviceCommands.filter(({ messageId }) => messageId !== 0x8201)) {
      const terminal = await harness.startTerminal({ respond });
      expect([endpoint, expectApiError(await api(request(terminal.phone)), 502)]).toEqual([
        endpoint,
        expect.stringContaining('9'),
      ]);
    }
  });

  it("the device's reply could not be read: /videos/control", async () => {
    const terminal = await harness.startTerminal({ recordings: [createRecording()], uploadBytesPerSecond: 10_000 });
    const videoId = await requestUpload(api, terminal.phone);
    terminal.setBehaviour({ kind: 'garbage', form: 'cutBody' }, 0x9207);
    for (const action of [0, 2]) expectApiError(await api(`/videos/control?video_id=${videoId}&action=${action}`), 502);
    expect((await fetchUpload(videoId)).status).toBe('uploading');
  });

  it.each([
    [1, 'failure'],
    [2, 'incorrectInfo'],
    [3, 'unsupported'],
  ] as const)('camera refused an upload with result %d', async (result, name) => {
    const terminal = await harness.startTerminal({ recordings: [createRecording()] });
    terminal.setBehaviour({ kind: 'refusing', result }, 0x9206);
    const request = `/videos/upload?${camera(terminal)}&${span().query}`;
    expect(expectApiError(await api(request), 502)).toBe(`The camera refused the upload (${name}).`);
    // No upload remains, and the camera is free.
    expect(parseReply(await api(`/videos/list?imei=${terminal.phone}`))).toEqual([200, { total: 0, videos: [] }]);
    terminal.resetBehaviour(0x9206);
    expect((await api(request)).status).toBe(200);
  });

  it('media server returned an error on stream.flv: the camera never connected to it, for live video or a recording', async () => {
    const terminal = await harness.startTerminal({ media: 'neverConnect', recordings: [createRecording()] });
    const startedAt = performance.now();
    for (const kind of ['realtime', 'history']) {
      const start = deviceCommands.find(({ endpoint }) => endpoint === `/${kind}/start-stream`);
      expect((await api(start?.request(terminal.phone) ?? '')).status).toBe(200);
      expectApiError(await api(`/${kind}/stream.flv?${camera(terminal)}`), 502);
    }
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(2 * firstPacketWaitMs - 100);
  });

  it('media server returned an error on stream.flv: it was killed', async () => {
    const terminal = await harness.startTerminal();
    expect((await api(`/realtime/start-stream?${camera(terminal)}`)).status).toBe(200);
    const path = `/realtime/stream.flv?${camera(terminal)}`;
    const viewer = new Viewer(`${harness.product.runtime.base_url}/api/v1${path}`);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    const former = killProcess(harness, 'jt1078-media');
    await waitFor(() => viewer.ended !== undefined, 'the end of the response');
    expect(expectApiError(await api(path), 502)).toBe('The media server returned an error.');
    await waitForRestart(harness, 'jt1078-media', former);
    await waitUntilHealthy(harness);
  }, 120_000);

  it('video file could not be deleted, and nothing was removed', async () => {
    const terminal = await harness.startTerminal({ recordings: [createRecording()] });
    const videoId = await requestUpload(api, terminal.phone);
    await waitForStatus(videoId, 'completed');
    const before = await fetchUpload(videoId);
    const remove = (): ReturnType<typeof api> => api({ method: 'DELETE', path: `/videos?video_id=${videoId}` });
    // The directory for pending deletions is replaced by a file.
    const removed = join(harness.product.dataDir, 'clips', '.removed');
    await rename(removed, `${removed}.aside`);
    writeFileSync(removed, '');
    const sentence = 'The video file could not be deleted. Nothing was removed; retry.';
    expect(expectApiError(await remove(), 502)).toBe(sentence);
    expect(await fetchUpload(videoId)).toEqual(before);
    await rm(removed);
    await rename(`${removed}.aside`, removed);
    expect(parseReply(await remove())).toEqual([200, before]);
    expectApiError(await remove(), 404);
  }, 60_000);
});

describe('status 503', () => {
  const components = ['state_store', 'message_broker', 'database', 'upload_server', 'jt808_server', 'jt1078_server'];

  it.each([
    ['upload_server', 'upload-ftp'],
    ['jt808_server', 'jt808-gateway'],
    ['jt1078_server', 'jt1078-media'],
    ['database', 'mongodb'],
  ])(
    'a component is unhealthy, with the health body instead of ApiError: %s',
    async (component, process) => {
      killProcess(harness, process, 'SIGSTOP');
      try {
        const reply = await api('/health');
        const states = components.map((name) => [name, name !== component] as const);
        expect(parseReply(reply)).toEqual([503, { healthy: false, components: Object.fromEntries(states) }]);
        expect(reply.headers['content-type']).toMatch(/^application\/json/);
      } finally {
        killProcess(harness, process, 'SIGCONT');
      }
      await waitUntilHealthy(harness);
    },
    60_000,
  );

  it('a device or camera is unhealthy, with the health body instead of ApiError', async () => {
    const absentPhone = uniquePhone();
    for (const path of [`/health/device?imei=${absentPhone}`, `/health/camera?imei=${absentPhone}&channel=1`])
      expect(parseReply(await api(path))).toEqual([503, { healthy: false }]);
    // The device is connected, but its camera does not stream.
    expect(parseReply(await api(`/health/device?imei=${untouched.phone}`))).toEqual([200, { healthy: true }]);
    expect(parseReply(await api(`/health/camera?${camera(untouched)}`))).toEqual([503, { healthy: false }]);
  });
});

describe('status 504', () => {
  it('the device did not reply in time: each command', async () => {
    const waits = deviceCommands.map(async ({ request, messageId, endpoint }) => {
      const terminal = await harness.startTerminal();
      terminal.setBehaviour({ kind: 'silent' });
      const startedAt = performance.now();
      const reply = await api(request(terminal.phone));
      expect([endpoint, expectApiError(reply, 504)]).toEqual([endpoint, 'The device did not reply in time.']);
      expect(performance.now() - startedAt).toBeGreaterThanOrEqual(deviceReplyTimeoutMs - 50);
      expect(terminal.receivedFrames(messageId)).toHaveLength(1);
    });
    await Promise.all(waits);
  });

  it('the device did not reply within the separate timeout of /videos/control', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    idle.holdResponses();
    const startedAt = performance.now();
    const reply = await api(`/videos/control?video_id=${videoId}&action=0`);
    expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(uploadControlTimeoutMs - 50);
    expect((await fetchUpload(videoId)).status).toBe('uploading');
  });
});

// The last test: without its database the product knows no upload.
describe('status 500', () => {
  it('unexpected server error: the database of uploads is unavailable', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    const outage = await stopBackend(harness, 'mongodb');
    const requests: ApiRequest[] = [
      { path: `/videos?video_id=${videoId}` },
      { path: `/videos?video_id=${videoId}`, method: 'DELETE' },
      { path: `/videos/control?video_id=${videoId}&action=0` },
      { path: `/videos/list?imei=${idle.phone}` },
    ];
    const replies = await Promise.all(requests.map((request) => api(request)));
    for (const reply of replies) expect(expectApiError(reply, 500)).not.toMatch(/mongo|ECONN|127\.0\.0\.1/i);
    expect(idle.terminal.receivedFrames(0x9207)).toEqual([]);
    await outage.restore();
    expect((await fetchUpload(videoId)).status).toBe('uploading');
  }, 120_000);
});
