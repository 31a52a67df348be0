import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let imei: string;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
  imei = await harness.connectDevice(({ command }) => createOutcome(command.kind === 'startLive' ? 0x9101 : 0x9102));
});
afterAll(() => harness.close());

const device = ['/health/device', '/wakeup'];
const camera = ['/health/camera', '/realtime/start-stream', '/realtime/stream.flv', '/realtime/control-stream'];
const valid: Record<string, string> = { '/realtime/control-stream': '&ctrl_instruction=0' };

const invalidImeis = [
  ['missing', ''],
  ['blank', 'imei='],
  ['of spaces', 'imei=%20%20%20%20%20%20%20%20%20%20%20%20'],
  ['of 11 digits', 'imei=12345678901'],
  ['of 13 digits', 'imei=1234567890123'],
  ['of 19 digits', 'imei=1234567890123456789'],
  ['of 21 digits', 'imei=123456789012345678901'],
  ['with a letter', 'imei=12345678901a'],
  ['with a sign', 'imei=-12345678901'],
  ['with a line break', 'imei=123456789012%0A'],
  ['in other digits', `imei=${encodeURIComponent('١٢٣٤٥٦٧٨٩٠١٢')}`],
  ['of 12 zeros', 'imei=000000000000'],
  ['of 20 zeros', 'imei=00000000000000000000'],
  ['given twice', 'imei=123456789012&imei=123456789012'],
  ['malformed', 'imei=%zz'],
];
const invalidChannels = [
  ['missing', ''],
  ['blank', '&channel='],
  ['negative', '&channel=-1'],
  ['above a byte', '&channel=256'],
  ['hexadecimal', '&channel=0x1'],
  ['with an exponent', '&channel=1e0'],
  ['a fraction', '&channel=1.0'],
  ['with a plus', '&channel=%2B1'],
  ['with a space', '&channel=%201'],
  ['text', '&channel=one'],
  ['given twice', '&channel=1&channel=1'],
  ['huge', '&channel=99999999999999999999'],
];
const invalidStartParameters = [
  'host=',
  'host=a%20b',
  'host=%E4%B8%AD',
  `host=${'a'.repeat(254)}`,
  'host=a&host=b',
  'tcp_port=65536',
  'tcp_port=-1',
  'tcp_port=',
  'tcp_port=1e3',
  'tcp_port=0x10',
  'tcp_port=1&tcp_port=1',
  'udp_port=65536',
  'udp_port=-1',
  'udp_port=abc',
  'tcp_port=0&udp_port=0',
  'data_type=6',
  'data_type=-1',
  'data_type=',
  'data_type=1.5',
  'data_type=1&data_type=1',
  'stream_type=2',
  'stream_type=-1',
  'stream_type=main',
];
const invalidControlParameters = [
  '',
  'ctrl_instruction=5',
  'ctrl_instruction=-1',
  'ctrl_instruction=',
  'ctrl_instruction=stop',
  'ctrl_instruction=1&ctrl_instruction=1',
  'ctrl_instruction=0&close_stream_type=3',
  'ctrl_instruction=0&close_stream_type=-1',
  'ctrl_instruction=0&close_stream_type=',
  'ctrl_instruction=1&stream_type=2',
  'ctrl_instruction=1&stream_type=x',
];

const cases: [string, string][] = [
  ...[...device, ...camera].flatMap((path) =>
    invalidImeis.map(([what, query]): [string, string] => [
      `imei ${what}`,
      `${path}?${query}&channel=1${valid[path] ?? ''}`,
    ]),
  ),
  ...camera.flatMap((path) =>
    invalidChannels.map(([what, query]): [string, string] => [
      `channel ${what}`,
      `${path}?imei=123456789012${query}${valid[path] ?? ''}`,
    ]),
  ),
  ...invalidStartParameters.map((query): [string, string] => [
    query,
    `/realtime/start-stream?imei=123456789012&channel=1&${query}`,
  ]),
  ...invalidControlParameters.map((query): [string, string] => [
    query,
    `/realtime/control-stream?imei=123456789012&channel=1&${query}`,
  ]),
  ...['audio=mp3', 'audio=', 'hevc=yes', 'audio=aac&audio=aac'].map((query): [string, string] => [
    query,
    `/realtime/stream.flv?imei=123456789012&channel=1&${query}`,
  ]),
];

describe('invalid parameters', () => {
  it.each(cases)('%s is 400: %s', async (_what, path) => {
    const { status, body } = await api.get(path);
    expect({ status, body }).toEqual({
      status: 400,
      body: { status: 400, error: expect.stringMatching(/^[A-Z].+\.$/) },
    });
  });

  it('are 400 with the name and the valid range', async () => {
    const { body } = await api.get('/wakeup?imei=12');
    expect(body).toEqual({
      status: 400,
      error: 'The query parameter imei must be a terminal number of 12 or 20 digits, not all zeros.',
    });
    expect((await api.get('/realtime/start-stream?imei=123456789012&channel=1&data_type=9')).body).toMatchObject({
      error: expect.stringContaining('0, 1, 2, 3, 4, 5'),
    });
  });
});

describe('valid parameters', () => {
  it('ignores unknown parameters', async () => {
    expect((await api.get(`/wakeup?imei=${imei}&colour=red&colour=blue&x=%zz&=&&`)).status).toBe(200);
  });

  it('treats the 12- and the 20-digit form of a number as one device', async () => {
    expect((await api.get(`/wakeup?imei=${imei}`)).status).toBe(200);
    expect((await api.get(`/wakeup?imei=00000000${imei}`)).status).toBe(200);
    expect((await api.get(`/health/device?imei=00000000${imei}`)).body).toEqual({ healthy: true });
  });

  it.each([0, 255])('accepts channel %i', async (channel) => {
    expect((await api.get(`/realtime/start-stream?imei=${imei}&channel=${channel}`)).status).toBe(200);
  });
});

describe('an unknown operation', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/realtime'],
    ['POST', '/realtime/nothing'],
    ['GET', '/Wakeup'],
    ['DELETE', '/videos/none'],
  ])('%s %s is 404 with an ApiError', async (method, path) => {
    const { status, body } = await api.get(path, { method });
    expect({ status, body }).toEqual({ status: 404, body: { status: 404, error: expect.any(String) } });
  });

  it('returns 400 for a malformed path', async () => {
    expect((await api.get('/%zz')).body).toEqual({ status: 400, error: 'The path is not valid percent-encoding.' });
  });

  it('returns the methods of a path to OPTIONS without credentials or parameters', async () => {
    const { status, headers, body } = await api.get('/wakeup', { method: 'OPTIONS' });
    expect([status, headers.get('allow'), body]).toEqual([204, 'GET, OPTIONS', undefined]);
    expect((await api.get('/health', { method: 'OPTIONS' })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
    expect((await api.get('/nothing', { method: 'OPTIONS' })).body).toEqual({
      status: 404,
      error: 'There is no OPTIONS /api/v1/nothing.',
    });
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH'])('returns 405 and Allow to %s on a GET path', async (method) => {
    const { status, headers, body } = await api.get(`/wakeup?imei=${imei}`, { method });
    expect(status).toBe(405);
    expect(headers.get('allow')).toBe('GET, OPTIONS');
    expect(body).toEqual({ status: 405, error: expect.any(String) });
    expect((await api.get('/health', { method })).headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });

  it('sends no command for HEAD', async () => {
    const other = await harness.connectDevice(() => createOutcome(0x8204));
    for (const path of [
      '/wakeup?',
      '/realtime/start-stream?channel=1&',
      '/realtime/control-stream?channel=1&ctrl_instruction=0&',
    ])
      expect((await api.get(`${path}imei=${other}`, { method: 'HEAD' })).status).toBe(405);
    expect(harness.findCommands(other)).toEqual([]);
    expect((await api.get(`/health/device?imei=${other}`, { method: 'HEAD' })).status).toBe(200);
  });

  it('keeps the connection open after an unread body, and reveals no framework', async () => {
    const { status, headers } = await api.get('/nothing', {
      method: 'POST',
      body: '{"a":',
      headers: { 'content-type': 'application/json' },
    });
    expect(status).toBe(404);
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

describe('X-Request-Id', () => {
  it('is returned and reaches the device with the command', async () => {
    const { headers } = await api.get(`/wakeup?imei=${imei}`, { headers: { 'x-request-id': 'caller-7.a_B' } });
    expect(headers.get('x-request-id')).toBe('caller-7.a_B');
    expect(harness.findCommands(imei).at(-1)?.correlationId).toBe('caller-7.a_B');
  });

  it.each(['a b', 'x'.repeat(65), 'a/b'])('is generated if %j was sent', async (given) => {
    const { headers } = await api.get(`/wakeup?imei=${imei}`, { headers: { 'x-request-id': given } });
    expect(headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('is on errors too, and two requests with one id are two commands', async () => {
    const init = { headers: { 'x-request-id': 'same' } };
    expect((await api.get('/nothing', init)).headers.get('x-request-id')).toBe('same');
    const before = harness.findCommands(imei).length;
    await Promise.all([api.get(`/wakeup?imei=${imei}`, init), api.get(`/wakeup?imei=${imei}`, init)]);
    expect(harness.findCommands(imei).length - before).toBe(2);
  });
});
