import type { Edition } from '@fleet/jt808';
import type { PlatformMessage, SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiSender, parseReply, span, toDeviceResponse } from './testing/device-api.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { expectApiError } from './testing/http.ts';
import { createRecording, type UploadResponse } from './testing/idle-camera.ts';
import { createGeneralResponse } from './testing/responses.ts';

// Tests every endpoint with every edition and every spelling of a terminal number. Bodies are compared byte by byte
// with the tables of the standards.

let harness: ProductHarness;

beforeAll(async () => {
  harness = await joinSharedHarness();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = createApiSender(() => harness);
const post = (path: string, body: unknown): ReturnType<typeof api> => api({ method: 'POST', path, body });
const ascii = (text: string): string => Buffer.from(text, 'latin1').toString('hex');
const { startTime, endTime, query: spanQuery } = span();
/** Time span on the camera's clock, in BCD. */
const spanHex = [startTime, endTime].map((time) => time.slice(2).replaceAll(/\D/g, '')).join('');
const noAlarm = '00'.repeat(8);

/** Accepts commands and upload control without executing them. */
const acceptCommand = (message: PlatformMessage) =>
  [0x8105, 0x9206, 0x9207].includes(message.messageId) ? [createGeneralResponse(message)] : undefined;

interface Device {
  readonly edition: Edition;
  /** The number as the terminal sends it. */
  readonly phone: string;
  readonly spellings: readonly string[];
  readonly wakeUp: number;
}

const createDevice = (edition: Edition, phone: string, spellings: readonly string[]): Device => ({
  edition,
  phone,
  spellings: [phone, ...spellings],
  wakeUp: edition === '2019' ? 0x8204 : 0x8201,
});

function devices(): [name: string, Device][] {
  const padded = (phone: string): string => phone.padStart(20, '0');
  const [old, zero, middle, short] = [uniquePhone(), uniquePhone().replace('1', '0'), uniquePhone(), uniquePhone()];
  const long = uniquePhone().padStart(20, '5');
  return [
    ['2011, 12 digits', createDevice('2011', old, [padded(old)])],
    ['2011, 12 digits with a leading 0', createDevice('2011', zero, [padded(zero)])],
    ['2013, 12 digits', createDevice('2013', middle, [padded(middle)])],
    ['2019, 20 digits with leading zeros', createDevice('2019', padded(short), [short])],
    ['2019, 20 digits', createDevice('2019', long, [])],
  ];
}

describe.each(devices())('%s', (_name, { edition, phone, spellings, wakeUp }) => {
  let terminal: SimulatedTerminal;

  beforeAll(async () => {
    terminal = await harness.startTerminal({ edition, phone, respond: acceptCommand, recordings: [createRecording()] });
  }, 90_000);

  const bodies = (messageId: number): string[] =>
    terminal.receivedFrames(messageId).map(({ body }) => body.toString('hex'));
  const each = <T>(value: T): T[] => spellings.map(() => value);

  it('/health/device and /health/camera', async () => {
    for (const imei of spellings) {
      expect(parseReply(await api(`/health/device?imei=${imei}`))).toEqual([200, { healthy: true }]);
      expect(parseReply(await api(`/health/camera?imei=${imei}&channel=1`))).toEqual([503, { healthy: false }]);
    }
  });

  it('/wakeup', async () => {
    for (const imei of spellings)
      expect(parseReply(await api(`/wakeup?imei=${imei}`))).toEqual([200, { result: 'success' }]);
    expect(bodies(wakeUp)).toEqual(each(''));
  });

  it('/send-control-command', async () => {
    const parameters = '0;;cmnet;;;fleet.example.com;7808;0;60';
    for (const imei of spellings)
      expect(parseReply(await post(`/send-control-command?imei=${imei}`, { command: 2, parameters }))).toEqual(
        toDeviceResponse(0x8105),
      );
    expect(bodies(0x8105)).toEqual(each(`02${ascii(parameters)}`));
  });

  it('/send-text', async () => {
    for (const imei of spellings)
      expect(parseReply(await post(`/send-text?imei=${imei}`, { text: '请靠边停车 stop' }))).toEqual(
        toDeviceResponse(0x8300),
      );
    // Without options the text is an emergency: bit 0, or binary 10 in bits 0 and 1 and the type byte of edition 2019.
    const head = edition === '2019' ? '0201' : '01';
    expect(bodies(0x8300)).toEqual(each(`${head}c7ebbfbfb1dfcda3b3b52073746f70`));
  });

  it('/realtime/start-stream and control-stream', async () => {
    // Sent once: the other spelling names the channel that already streams.
    for (const imei of spellings) {
      const path = `/realtime/start-stream?imei=${imei}&channel=1`;
      expect(parseReply(await api(path))).toEqual(toDeviceResponse(0x9101));
    }
    const { host, live_port: port } = harness.product.runtime.jt1078;
    const server = host.length.toString(16).padStart(2, '0') + ascii(host) + port.toString(16).padStart(4, '0');
    expect(bodies(0x9101)).toEqual([`${server}0000010000`]);
    await waitFor(async () => {
      const healthReplies = await Promise.all(spellings.map((imei) => api(`/health/camera?imei=${imei}&channel=1`)));
      return healthReplies.every(({ status }) => status === 200);
    }, 'the camera to stream');
    for (const [index, imei] of spellings.entries()) {
      const path = `/realtime/control-stream?imei=${imei}&channel=1&ctrl_instruction=1&stream_type=${index}`;
      expect(parseReply(await api(path))).toEqual(toDeviceResponse(0x9102));
    }
    expect(bodies(0x9102)).toEqual(spellings.map((_imei, index) => `0101000${index}`));
    expect((await api(`/realtime/control-stream?imei=${phone}&channel=1&ctrl_instruction=0`)).status).toBe(200);
  });

  it('/history/list-videos', async () => {
    for (const imei of spellings) {
      const [status, body] = parseReply(await api(`/history/list-videos?imei=${imei}&channel=1&${spanQuery}`));
      expect([status, body]).toEqual([
        200,
        {
          total_resources: 1,
          resources: [
            {
              logical_channel_no: 1,
              playback_start_time: `${startTime}+08:00`,
              playback_end_time: `${endTime}+08:00`,
              alarm: 0,
              resource_type: 0,
              stream_type: 1,
              memory_type: 1,
              file_size: 200_000,
            },
          ],
        },
      ]);
    }
    expect(bodies(0x9205)).toEqual(each(`01${spanHex}${noAlarm}030000`));
  });

  it('/history/start-stream and control-stream', async () => {
    const what = 'resource_type=3&stream_type=1&memory_type=1&playback_mode=1&fast_forward_rewind_times=2';
    for (const imei of spellings)
      expect(parseReply(await api(`/history/start-stream?imei=${imei}&channel=1&${spanQuery}&${what}`))).toEqual(
        toDeviceResponse(0x9201),
      );
    const { host, history_port: port } = harness.product.runtime.jt1078;
    const server = host.length.toString(16).padStart(2, '0') + ascii(host) + port.toString(16).padStart(4, '0');
    expect(bodies(0x9201)).toEqual([`${server}0000010301010102${spanHex}`]);
    const seekPosition = startTime.replace(/:00$/, ':05');
    const seek = `playback_control=5&drag_playback_time=${seekPosition}%2B08:00`;
    for (const [index, control] of [seek, 'playback_control=2'].entries()) {
      const imei = spellings[index % spellings.length];
      expect(parseReply(await api(`/history/control-stream?imei=${imei}&channel=1&${control}`))).toEqual(
        toDeviceResponse(0x9202),
      );
    }
    expect(bodies(0x9202)).toEqual([`010500${seekPosition.slice(2).replaceAll(/\D/g, '')}`, '010200000000000000']);
  });

  it('/videos/upload, list and control', async () => {
    const ids = new Set<string>();
    for (const [index, imei] of spellings.entries()) {
      const [status, body] = parseReply(await api(`/videos/upload?imei=${imei}&channel=1&${spanQuery}`));
      const { video_id: videoId, ...response } = body as { video_id: string };
      ids.add(videoId);
      // The other spelling names the clip that already has an upload.
      expect([status, response]).toEqual([
        200,
        { response_id: '0x9206', result: index === 0 ? 'success' : 'uploading' },
      ]);
    }
    expect(ids.size).toBe(1);
    const [videoId = ''] = ids;
    expect(decodeUploadRequest(terminal)).toEqual({
      server: harness.product.runtime.ftp.host,
      port: harness.product.runtime.ftp.port,
      username: expect.stringMatching(/^[A-Za-z0-9]+$/),
      password: expect.stringMatching(/^[A-Za-z0-9]{22,}$/),
      path: '/',
      rest: `01${spanHex}${noAlarm}03000007`,
    });
    const upload: UploadResponse = {
      video_id: videoId,
      imei: phone,
      channel: 1,
      video_start_time: `${startTime}+08:00`,
      video_end_time: `${endTime}+08:00`,
      filesize: 0,
      status: 'uploading',
    };
    for (const imei of spellings)
      expect(parseReply(await api(`/videos/list?imei=${imei}`))).toEqual([200, { total: 1, videos: [upload] }]);
    const serial = terminal.receivedFrames(0x9206)[0]?.serial ?? -1;
    for (const [action, status] of ['paused', 'uploading', 'cancelled'].entries())
      expect(parseReply(await api(`/videos/control?video_id=${videoId}&action=${action}`))).toEqual([
        200,
        { ...upload, status },
      ]);
    const named = serial.toString(16).padStart(4, '0');
    expect(bodies(0x9207)).toEqual([0, 1, 2].map((action) => `${named}0${action}`));
  });
});

/** Fields of the only 0x9206, JT/T 1078-2016 table 26. */
function decodeUploadRequest(terminal: SimulatedTerminal): Record<string, unknown> {
  const [first, ...others] = terminal.receivedFrames(0x9206);
  if (first === undefined || others.length > 0) throw new Error('not requested exactly once');
  const { body } = first;
  let at = 0;
  const text = (): string => {
    const size = body.readUInt8(at);
    at += 1 + size;
    return body.toString('latin1', at - size, at);
  };
  const server = text();
  const port = body.readUInt16BE(at);
  at += 2;
  const [username, password, path] = [text(), text(), text()];
  return { server, port, username, password, path, rest: body.toString('hex', at) };
}

const editions = ['2011', '2013', '2019'] as const;
const startEdition = (edition: Edition, respond?: typeof acceptCommand): Promise<SimulatedTerminal> =>
  harness.startTerminal({ edition, phone: uniquePhone(edition === '2019' ? 20 : 12), respond });

describe.each(editions)('texts to edition %s', (edition) => {
  let terminal: SimulatedTerminal;

  beforeAll(async () => {
    terminal = await startEdition(edition);
  }, 90_000);

  const send = (body: object): ReturnType<typeof api> => post(`/send-text?imei=${terminal.phone}`, body);
  const last = (): string | undefined => terminal.receivedFrames(0x8300).at(-1)?.body.toString('hex');
  /** Fields before the text. */
  const headBytes = edition === '2019' ? 2 : 1;

  it('encode every combination of options and types', async () => {
    const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
    const importance = { none: 0, Service: 1, Notification: 3 };
    for (let bits = 0; bits < 32; bits += 1)
      for (const type of ['none', 'Service', 'Notification'] as const) {
        const has = (bit: number): boolean => (bits & bit) !== 0;
        const options = {
          emergency: has(1),
          display_by_terminal: has(2),
          tts: has(4),
          display_by_advertising_screen: has(8),
          central_navigation_info: has(16),
        };
        const text_type = type === 'none' ? null : type;
        expect(parseReply(await send({ text: 'A', text_type, options }))).toEqual(toDeviceResponse(0x8300));
        const displayBits = (has(2) ? 4 : 0) + (has(4) ? 8 : 0) + (has(8) ? 16 : 0);
        const low2019 = has(1) ? 2 : importance[type];
        const head =
          edition === '2019'
            ? hex(displayBits + low2019) + (type === 'Service' ? '02' : '01')
            : hex(displayBits + (has(1) ? 1 : 0));
        expect([bits, type, last()]).toEqual([bits, type, `${head}41`]);
      }
  }, 60_000);

  it.each([
    ['测试123@456#abc!...结束', 'b2e2cad43132334034353623616263212e2e2ebde1caf8'],
    ['粤B12345', 'd4c1423132333435'],
    ['€', 'a2e3'],
    ['A1 ', '413120'],
    ['Ａ１　', 'a3c1a3b1a1a1'],
    ['，,。.', 'a3ac2ca1a32e'],
    ['\r\n\t;', '0d0a093b'],
  ])('are encoded in GBK: %j', async (text, hex) => {
    expect(parseReply(await send({ text }))).toEqual(toDeviceResponse(0x8300));
    expect(last()?.slice(2 * headBytes)).toBe(hex);
  });

  it('can have 1024 bytes, in as many parts as needed', async () => {
    const longest: [text: string, hex: string][] = [
      ['x'.repeat(1024), '78'.repeat(1024)],
      ['车'.repeat(512), 'b3b5'.repeat(512)],
      [`x${'€'.repeat(511)}y`, `78${'a2e3'.repeat(511)}79`],
    ];
    const replies = longest.map(([text]) => send({ text }).then(parseReply));
    for (const response of await Promise.all(replies)) expect(response).toEqual(toDeviceResponse(0x8300));
    // The text as the terminal has reassembled it.
    for (const [, hex] of longest)
      await terminal.waitForCommand(0x8300, ({ body }) => body.toString('hex', headBytes) === hex);
  });

  it.each([
    ['1025 letters', 'x'.repeat(1025), /text.*1024/],
    ['513 characters', `x${'车'.repeat(512)}`, /text has 1025 bytes in GBK; at most 1024/],
    ['513 euros', '€'.repeat(513), /text has 1026 bytes in GBK; at most 1024/],
    ['an emoji', 'turn 😀 back', /text .*😀 \(U\+1F600\)\./],
    ['letters of half width, and others', 'ｶ Å é', /text .*ｶ \(U\+FF76\), Å \(U\+00C5\)\.$/],
    ['half a character', '\ud83d', /text .*U\+D83D/],
  ])('are refused if GBK or the length limit does not allow them: %s', async (_what, text, named) => {
    const before = terminal.receivedFrames(0x8300).length;
    expect(expectApiError(await send({ text }), 400)).toMatch(named);
    expect(terminal.receivedFrames(0x8300)).toHaveLength(before);
  });
});

describe.each(editions)('control commands to edition %s', (edition) => {
  it.each([1, 2, 3, 4, 5, 6, 7])('%i is sent, and its reply is returned', async (command) => {
    const terminal = await startEdition(edition);
    const result = edition === '2019' && ![2, 4, 5].includes(command) ? 'unsupported' : 'success';
    const reply = await post(`/send-control-command?imei=${terminal.phone}`, { command });
    expect(parseReply(reply)).toEqual(toDeviceResponse(0x8105, result));
    expect(terminal.receivedFrames(0x8105).map(({ body }) => body.toString('hex'))).toEqual([`0${command}`]);
  });

  it('0 and 8 to 255 are sent unchanged, with and without parameters', async () => {
    const terminal = await startEdition(edition, acceptCommand);
    const path = `/send-control-command?imei=${terminal.phone}`;
    for (const command of [0, ...Array.from({ length: 248 }, (_unused, index) => index + 8)]) {
      const parameters = [null, 'as;123;zxc;123;', '车;'][command % 3];
      expect(parseReply(await post(path, { command, parameters }))).toEqual(toDeviceResponse(0x8105));
      const hex = ['', ascii('as;123;zxc;123;'), 'b3b53b'][command % 3];
      expect(terminal.receivedFrames(0x8105).at(-1)?.body.toString('hex')).toBe(
        command.toString(16).padStart(2, '0') + hex,
      );
    }
    expect(terminal.receivedFrames(0x8105)).toHaveLength(249);
  }, 60_000);
});
