import { request as httpRequest } from 'node:http';
import { callUseCase, deviceApi, type Outcome } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
});
afterAll(() => harness.close());

const post = (path: string, imei: string, body: unknown, headers: Record<string, string> = {}) =>
  api.get(`${path}?imei=${imei}`, {
    method: 'POST',
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { 'content-type': 'application/json', ...headers },
  });
const allOptions = {
  emergency: false,
  display_by_terminal: true,
  tts: false,
  display_by_advertising_screen: true,
  central_navigation_info: false,
};
const commands: [path: string, messageId: number, body: Record<string, unknown>][] = [
  ['/send-control-command', 0x8105, { command: 4 }],
  ['/send-text', 0x8300, { text: 'stop' }],
];

describe.each(commands)('POST %s', (path, messageId, good) => {
  it.each([
    [0, 'success'],
    [1, 'failure'],
    [2, 'incorrectInfo'],
    [3, 'unsupported'],
  ])('names result %i %s', async (code, result) => {
    const imei = await harness.connectDevice(() => createOutcome(messageId, code));
    const { status, body } = await post(path, imei, good);
    expect({ status, body }).toEqual({
      status: 200,
      body: { response_id: `0x${messageId.toString(16)}`, result },
    });
  });

  it.each<[string, Outcome, number]>([
    ['not connected', { kind: 'notConnected' }, 404],
    ['timed out', { kind: 'timedOut' }, 504],
    ['unreadable', { kind: 'unreadable', detail: 'body cut' }, 502],
    ['a response without a result', createOutcome(messageId, null), 502],
    ['refused', { kind: 'refused', detail: 'the command does not fit' }, 400],
    ['busy', { kind: 'busy', detail: '16 commands are in flight' }, 429],
  ])('maps an outcome "%s" to an ApiError', async (_kind, outcome, status) => {
    const imei = await harness.connectDevice(() => outcome);
    const response = await post(path, imei, good);
    expect(response).toMatchObject({ status, body: { status, error: expect.stringMatching(/^[A-Z].+\.$/) } });
  });

  it('returns 404 for a device without a gateway, 504 and 503 after the time-outs', async () => {
    expect((await post(path, randomImei(), good)).status).toBe(404);
    const imei = await harness.connectDevice(() => new Promise(() => undefined));
    const init = { method: 'POST', body: JSON.stringify(good) };
    const quick = await harness.startService({ DEVICE_REPLY_TIMEOUT_MS: '300' });
    expect((await quick.get(`${path}?imei=${imei}`, init)).status).toBe(504);
    const limited = await harness.startService({ REQUEST_TIMEOUT_MS: '300' });
    expect((await limited.get(`${path}?imei=${imei}`, init)).status).toBe(503);
    // Requests over the bus reach any replica.
    await Promise.all([quick.stop(), limited.stop()]);
  });

  it('accepts a body of 16 KiB, and rejects one byte more, with and without a length', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    const text = JSON.stringify(good);
    const of = (bytes: number) => `${text.slice(0, -1)}${' '.repeat(bytes - text.length)}}`;
    const chunked = (body: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const request = httpRequest(`${api.base}/api/v1${path}?imei=${imei}`, { method: 'POST' }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.once('error', reject);
        request.write(body.slice(0, 5));
        request.end(body.slice(5));
      });
    expect((await post(path, imei, of(16_384))).status).toBe(200);
    expect(await chunked(of(16_384))).toBe(200);
    expect(await post(path, imei, of(16_385))).toMatchObject({
      status: 413,
      body: { status: 413, error: 'The request body is larger than 16384 bytes.' },
    });
    expect(await chunked(of(16_385))).toBe(413);
    expect(harness.findCommands(imei)).toHaveLength(2);
  });

  it('rejects a large body before all of it has been read', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    const status = await new Promise((resolve, reject) => {
      const headers = { 'content-length': String(1_000_000_000) };
      const request = httpRequest(`${api.base}/api/v1${path}?imei=${imei}`, { method: 'POST', headers }, (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
      request.once('error', reject);
      request.write('{');
    });
    expect(status).toBe(413);
  });

  it.each<[string, string, RegExp]>([
    ['nothing', '', /^A JSON body is required/],
    ['no JSON', '{"command":', /not valid JSON/],
    ['a bare word', 'stop', /not valid JSON/],
    ['a number without quotes around its key', '{command:4}', /not valid JSON/],
    ['null', 'null', /^The body must be object/],
    ['an array', '[{"command":4,"text":"x"}]', /^The body must be object/],
    ['a string', '"command"', /^The body must be object/],
    ['an empty object', '{}', /^The body field (command|text) is missing/],
    ['deep nesting', `${'['.repeat(8_000)}${']'.repeat(8_000)}`, /^The body must be object/],
    ['the required field in other letters', '{"Command":4,"Text":"x"}', /^The body field (command|text) is missing/],
    [
      'the required field twice',
      '{"command":4,"text":"x","command":3,"text":"y"}',
      /^The body field (command) is given/,
    ],
    ['the required field twice, once escaped', '{"text":"x","command":4,"\\u0074ext":"y"}', /^The body field text is/],
  ])('refuses %s', async (_what, sent, message) => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    const { status, body } = await post(path, imei, sent);
    expect({ status, body }).toEqual({ status: 400, body: { status: 400, error: expect.stringMatching(message) } });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('rejects bytes that are not UTF-8', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    const body = Buffer.from('7b22636f6d6d616e64223a342c2274657874223a22b3b5227d', 'hex');
    const { status } = await api.get(`${path}?imei=${imei}`, { method: 'POST', body });
    expect(status).toBe(400);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('parses JSON for any Content-Type, but nothing compressed and no other charset', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    expect((await post(path, imei, good, { 'content-type': 'text/plain' })).status).toBe(200);
    expect((await post(path, imei, good, { 'content-type': 'application/json; charset=gbk' })).status).toBe(415);
    expect((await post(path, imei, good, { 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('ignores unknown fields at any depth', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    const sent = `${JSON.stringify(good).slice(0, -1)},"more":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    expect((await post(path, imei, sent)).status).toBe(200);
  });
});

describe('POST /send-control-command', () => {
  it.each<[Record<string, unknown>, number, string | null]>([
    ...[0, 3, 4, 5, 6, 7, 8, 255].map((command): [Record<string, unknown>, number, null] => [
      { command },
      command,
      null,
    ]),
    [{ command: 4, parameters: null }, 4, null],
    [{ command: 4, parameters: '' }, 4, null],
    [{ command: 1, parameters: 'http://fw.example/a' }, 1, 'http://fw.example/a;;;;;;;;;;'],
    [{ command: 2, parameters: '0;;;;;host;7808;0;60' }, 2, '0;;;;;host;7808;0;60'],
    [{ command: 100, parameters: 'as;123' }, 100, 'as;123'],
  ])('sends %j', async (body, command, parameters) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8105));
    expect((await post('/send-control-command', imei, body)).status).toBe(200);
    expect(harness.findCommands(imei).map((received) => received.command)).toEqual([
      { kind: 'terminalControl', command, parameters },
    ]);
  });

  it('accepts an integer in any JSON notation', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x8105));
    for (const text of ['4.0', '4e0', '40e-1'])
      expect((await post('/send-control-command', imei, `{"command":${text}}`)).status).toBe(200);
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual(
      Array.from({ length: 3 }, () => ({ kind: 'terminalControl', command: 4, parameters: null })),
    );
  });

  it.each(['-1', '256', '1e3', '1e999', '-0', '1.5', '"4"', 'true', 'null', '[]', '{}', '[4]'])(
    'rejects the command %s',
    async (text) => {
      const imei = await harness.connectDevice(() => createOutcome(0x8105));
      const { status, body } = await post('/send-control-command', imei, `{"command":${text}}`);
      expect({ status, body }).toEqual({
        status: 400,
        body: { status: 400, error: expect.stringMatching(/^The body field command must be .+\.$/) },
      });
      expect(harness.findCommands(imei)).toEqual([]);
    },
  );

  it.each([
    [4, 'x'],
    [2, '0;;;;;host;0x1e80'],
    [1, 'a;b;c;d;e;1;2;f;g;h;3;i'],
    [9, 'x'.repeat(1_023)],
    [9, '😀'],
    [9, 1],
    [9, ['a']],
  ])('rejects for command %i the parameters %j', async (command, parameters) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8105));
    const { status, body } = await post('/send-control-command', imei, { command, parameters });
    expect({ status, body }).toEqual({
      status: 400,
      body: { status: 400, error: expect.stringMatching(/^The body field parameters .+\.$/) },
    });
    expect(harness.findCommands(imei)).toEqual([]);
  });
});

describe('POST /send-text', () => {
  const none = { textType: null, options: null };
  it.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{ text: 'x' }, { text: 'x', ...none }],
    [
      { text: '请靠边停车', text_type: 'Notification' },
      { text: '请靠边停车', textType: 'Notification', options: null },
    ],
    [
      { text: 'x', text_type: 'Service' },
      { text: 'x', textType: 'Service', options: null },
    ],
    [
      { text: 'x', text_type: null },
      { text: 'x', ...none },
    ],
    [{ text: 'x'.repeat(1_024) }, { text: 'x'.repeat(1_024), ...none }],
    [{ text: '车'.repeat(512) }, { text: '车'.repeat(512), ...none }],
    [
      { text: 'x', options: allOptions },
      {
        text: 'x',
        textType: null,
        options: {
          emergency: false,
          displayByTerminal: true,
          tts: false,
          displayByAdvertisingScreen: true,
          centralNavigationInfo: false,
        },
      },
    ],
  ])('sends %j', async (body, command) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    expect((await post('/send-text', imei, body)).status).toBe(200);
    expect(harness.findCommands(imei).map((received) => received.command)).toEqual([{ kind: 'sendText', ...command }]);
  });

  it.each<[unknown, RegExp]>([
    [{ text: '' }, /^The body field text must NOT have fewer than 1 characters/],
    [{ text: 'x'.repeat(1_025) }, /^The body field text must NOT have more than 1024 characters/],
    [{ text: `${'车'.repeat(512)}x` }, /^The body field text has 1025 bytes in GBK; at most 1024/],
    [{ text: 'fine 😀 ñ' }, /^The body field text has characters .+: 😀 \(U\+1F600\), ñ \(U\+00F1\)\.$/],
    [{ text: '\ud83d' }, /^The body field text has characters .+: U\+D83D\.$/],
    ...[null, 1, true, [], ['x'], {}].map((text): [unknown, RegExp] => [{ text }, /^The body field text must be/]),
    ...['', 'notification', 'NOTIFICATION', 'Other', 1, true, [], {}, ['Service']].map((type): [unknown, RegExp] => [
      { text: 'x', text_type: type },
      /^The body field text_type must be/,
    ]),
    ...[null, [], 'emergency', 1, true].map((options): [unknown, RegExp] => [
      { text: 'x', options },
      /^The body field options must be object/,
    ]),
    ...Object.keys(allOptions).flatMap((name): [unknown, RegExp][] => [
      [
        { text: 'x', options: Object.fromEntries(Object.entries(allOptions).filter(([key]) => key !== name)) },
        new RegExp(`^The body field options.${name} is missing`),
      ],
      ...[null, 'true', 1, 0, [], {}].map((value): [unknown, RegExp] => [
        { text: 'x', options: { ...allOptions, [name]: value } },
        new RegExp(`^The body field options.${name} must be boolean`),
      ]),
    ]),
  ])('refuses %j', async (sent, message) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    const { status, body } = await post('/send-text', imei, sent);
    expect({ status, body }).toEqual({ status: 400, body: { status: 400, error: expect.stringMatching(message) } });
    expect(harness.findCommands(imei)).toEqual([]);
  });
});

describe('over the bus', () => {
  const options = { timeoutMs: 5_000 };

  it('serves both commands with the same checks', async () => {
    const imei = await harness.connectDevice(({ command }) =>
      createOutcome(command.kind === 'sendText' ? 0x8300 : 0x8105, 1),
    );
    const control = { imei, command: 2, parameters: '1' };
    expect(await callUseCase(harness.bus, deviceApi.sendControlCommand, control, options)).toEqual({
      responseId: '0x8105',
      result: 'failure',
    });
    const text = { imei, text: 'x', textType: null, options: null };
    expect(await callUseCase(harness.bus, deviceApi.sendText, text, options)).toEqual({
      responseId: '0x8300',
      result: 'failure',
    });
    await expect(
      callUseCase(harness.bus, deviceApi.sendControlCommand, { ...control, parameters: '7' }, options),
    ).rejects.toMatchObject({ code: 'validation_failed' });
    await expect(callUseCase(harness.bus, deviceApi.sendText, { ...text, text: '😀' }, options)).rejects.toMatchObject({
      code: 'validation_failed',
    });
    await expect(
      callUseCase(harness.bus, deviceApi.sendText, { ...text, imei: randomImei() }, options),
    ).rejects.toMatchObject({ code: 'device_not_connected' });
  });
});
