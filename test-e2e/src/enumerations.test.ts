import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { PlatformMessage, Recording, SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiSender, deviceCommands, parseReply, span, toDeviceResponse } from './testing/device-api.ts';
import { joinSharedHarness, type ProductHarness, type TerminalSetup } from './testing/harness.ts';
import { expectApiError } from './testing/http.ts';
import { createRecording } from './testing/idle-camera.ts';
import { createGeneralResponse } from './testing/responses.ts';

// Sends each value of the enumerations of the Device API to a terminal. The numbers on the wire are the same; their
// offsets are those of JT/T 1078-2016.

let harness: ProductHarness;

beforeAll(async () => {
  harness = await joinSharedHarness();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = createApiSender(() => harness);

/** Accepts every command with success; replies to list requests like a regular terminal. */
const acceptCommand = (message: PlatformMessage) =>
  message.messageId === 0x9205 ? undefined : [createGeneralResponse(message)];
const startAgreeableTerminal = (setup: TerminalSetup = {}): Promise<SimulatedTerminal> =>
  harness.startTerminal({ channels: 16, media: 'neverConnect', respond: acceptCommand, ...setup });

interface UseCase {
  /** Name of the row in interface.md, and the values as the protocol reference lists them. */
  readonly row: string;
  readonly reference: string;
  readonly values: readonly number[];
  readonly endpoint: string;
  readonly parameter: string;
  /** Returns the other parameters of the n-th request. */
  readonly others: (index: number) => string;
  readonly messageId: number;
  /** Offset of the value in the body; negative offsets count from its end, after fields of variable length. */
  readonly at: number;
}

const history = (without: string): string => {
  const needed = ['resource_type=3', 'stream_type=1', 'memory_type=1'].filter((one) => !one.startsWith(without));
  return `&${span().query}&${needed.join('&')}`;
};
const media = '0 AV, 1 audio, 2 video, 3 video or AV';
const speeds = '1 1x, 2 2x, 3 4x, 4 8x, 5 16x';
/** Uses one channel per request, because a channel that streams receives no second command. */
const channel = (index: number): string => `&channel=${index + 1}`;
const clip = (index: number): string => `&channel=1&${span(index).query}`;

const start: Omit<UseCase, 'row' | 'reference' | 'values' | 'parameter' | 'at'> = {
  endpoint: '/history/start-stream',
  messageId: 0x9201,
  others: (index) => channel(index) + history('none'),
};
const list = { endpoint: '/history/list-videos', messageId: 0x9205, others: clip };
const upload = { endpoint: '/videos/upload', messageId: 0x9206, others: clip };
const live = { endpoint: '/realtime/start-stream', messageId: 0x9101, others: channel };
const liveControl = { endpoint: '/realtime/control-stream', messageId: 0x9102 };
const historyControl = { endpoint: '/history/control-stream', messageId: 0x9202 };
const anyStream = '0 any, 1 main, 2 sub';
const anyMemory = '0 any, 1 main, 2 backup';
const resource = { row: 'resource_type', reference: media, values: [0, 1, 2, 3], parameter: 'resource_type' };
const stream = { row: 'history stream_type (listing, upload)', values: [0, 1, 2], parameter: 'stream_type' };
const memory = { row: 'memory_type (listing, upload)', values: [0, 1, 2], parameter: 'memory_type' };
const speed = { row: 'fast_forward_rewind_times', values: [0, 1, 2, 3, 4, 5], parameter: 'fast_forward_rewind_times' };
const liveStream = {
  row: 'realtime stream_type',
  reference: '0 main, 1 sub',
  values: [0, 1],
  parameter: 'stream_type',
};

const uses: readonly UseCase[] = [
  {
    ...historyControl,
    row: 'playback_control',
    reference: '0 play, 1 pause, 2 stop, 3 fast forward, 4 key-frame rewind, 5 seek, 6 key frames',
    values: [0, 1, 2, 3, 4, 5, 6],
    parameter: 'playback_control',
    others: () => '&channel=1&drag_playback_time=2026-08-01T10:00:00%2B08:00',
    at: 1,
  },
  ...[3, 4].map((control) => ({
    ...historyControl,
    ...speed,
    reference: '0 play, 1 pause, 2 stop, 3 fast forward, 4 key-frame rewind',
    others: () => `&channel=1&playback_control=${control}`,
    at: 2,
  })),
  ...[1, 2].map((mode) => ({
    ...start,
    ...speed,
    reference: speeds,
    others: (index: number) => `${start.others(index)}&playback_mode=${mode}`,
    at: -13,
  })),
  { ...start, ...resource, others: (index) => channel(index) + history('resource'), at: -17 },
  { ...list, ...resource, at: 21 },
  { ...upload, ...resource, at: -4 },
  { ...list, ...stream, reference: anyStream, at: 22 },
  { ...upload, ...stream, reference: '0 either, 1 main, 2 sub', at: -3 },
  {
    ...start,
    row: 'history stream_type (start-stream input)',
    reference: '0 main or sub, 1 main, 2 sub',
    values: [1, 2],
    parameter: 'stream_type',
    others: (index) => channel(index) + history('stream'),
    at: -16,
  },
  { ...list, ...memory, reference: anyMemory, at: 23 },
  { ...upload, ...memory, reference: '0 either, 1 main, 2 backup', at: -2 },
  {
    ...start,
    row: 'memory_type (start-stream input)',
    reference: '0 either, 1 main, 2 backup',
    values: [1, 2],
    parameter: 'memory_type',
    others: (index) => channel(index) + history('memory'),
    at: -15,
  },
  {
    ...start,
    row: 'playback_mode',
    reference: '0 normal, 1 fast forward, 2 key-frame rewind, 3 key frames, 4 single frame',
    values: [0, 1, 2, 3, 4],
    parameter: 'playback_mode',
    at: -14,
  },
  {
    ...live,
    row: 'realtime data_type',
    reference: '0 AV, 1 video, 2 intercom, 3 listen, 4 broadcast, 5 transparent',
    values: [0, 1, 2, 3, 4, 5],
    parameter: 'data_type',
    at: -2,
  },
  { ...live, ...liveStream, at: -1 },
  { ...liveControl, ...liveStream, others: () => '&channel=1&ctrl_instruction=1', at: 3 },
  {
    ...liveControl,
    row: 'ctrl_instruction',
    reference: '0 stop, 1 switch stream, 2 pause all, 3 resume, 4 end intercom',
    values: [0, 1, 2, 3, 4],
    parameter: 'ctrl_instruction',
    others: () => '&channel=1',
    at: 1,
  },
  {
    ...liveControl,
    row: 'close_stream_type',
    reference: '0 all, 1 audio only, 2 video only',
    values: [0, 1, 2],
    parameter: 'close_stream_type',
    others: () => '&channel=1&ctrl_instruction=0',
    at: 2,
  },
];

const named = uses.map(
  (use) =>
    [`${use.parameter} of ${use.endpoint}${use.row === speed.row ? use.others(0).slice(-19) : ''}`, use] as const,
);

/** Returns the response for a terminal that accepts the command and holds no recording. */
function toExpectedSuccess(messageId: number): [number, unknown] {
  if (messageId === 0x9205) return [200, { total_resources: 0, resources: [] }];
  if (messageId !== 0x9206) return toDeviceResponse(messageId);
  return [200, { response_id: '0x9206', result: 'success', video_id: expect.any(String) }];
}

/** Cancels the upload that the response names. The camera would stay busy otherwise. */
async function endUpload([, body]: [number, unknown]): Promise<void> {
  const { video_id: videoId } = body as { video_id?: string };
  if (videoId === undefined) return;
  const { status } = await api(`/videos/control?video_id=${videoId}&action=2`);
  if (status !== 200) throw new Error(`could not cancel the upload: ${status}`);
}

/** Asserts that an accepting terminal receives the command, and ends a resulting upload. */
async function expectAccepted(messageId: number, path: string): Promise<void> {
  const response = parseReply(await api(path));
  expect(response).toEqual(toExpectedSuccess(messageId));
  await endUpload(response);
}

describe('sends each value to the terminal and returns 400 for the next values outside the range', () => {
  it.each(named)(
    '%s',
    async (_name, use) => {
      const { endpoint, parameter, others, values, messageId, at } = use;
      const terminal = await startAgreeableTerminal();
      const path = (value: number, index: number): string =>
        `${endpoint}?imei=${terminal.phone}${others(index)}&${parameter}=${value}`;
      for (const [index, value] of values.entries()) {
        await expectAccepted(messageId, path(value, index));
        const got = terminal.receivedFrames(messageId);
        expect([value, got.length, got.at(-1)?.body.at(at)]).toEqual([value, index + 1, value]);
      }
      for (const value of [Math.min(...values) - 1, Math.max(...values) + 1, 255])
        expect(expectApiError(await api(path(value, values.length)), 400)).toContain(parameter);
      expect(terminal.receivedFrames(messageId)).toHaveLength(values.length);
    },
    60_000,
  );

  it('action of /videos/control', async () => {
    const terminal = await startAgreeableTerminal();
    const request = await api(`/videos/upload?imei=${terminal.phone}${clip(0)}`);
    const { video_id: videoId } = JSON.parse(request.text) as { video_id: string };
    const serial = terminal.receivedFrames(0x9206)[0]?.serial;
    const sendAction = (action: number) => api(`/videos/control?video_id=${videoId}&action=${action}`);
    for (const [action, status] of [
      [0, 'paused'],
      [1, 'uploading'],
      [2, 'cancelled'],
    ] as const) {
      expect(parseReply(await sendAction(action))).toMatchObject([200, { video_id: videoId, status }]);
      const got = terminal.receivedFrames(0x9207);
      expect([got.length, got.at(-1)?.body.readUInt16BE(0), got.at(-1)?.body.at(2)]).toEqual([
        action + 1,
        serial,
        action,
      ]);
    }
    for (const action of [-1, 3]) expect(expectApiError(await sendAction(action), 400)).toContain('action');
    expect(terminal.receivedFrames(0x9207)).toHaveLength(3);
  });
});

describe('fields that a command does not use are 0', () => {
  it('sets the speed only for fast forward and rewind, and the position only for a seek', async () => {
    const terminal = await startAgreeableTerminal();
    const more = 'fast_forward_rewind_times=4&drag_playback_time=2026-08-01T10:00:00%2B08:00';
    for (const control of [0, 1, 2, 3, 4, 5, 6]) {
      await api(`/history/control-stream?imei=${terminal.phone}&channel=1&playback_control=${control}&${more}`);
      const rest = terminal.receivedFrames(0x9202).at(-1)?.body.subarray(2).toString('hex');
      expect([control, rest]).toEqual([
        control,
        (control === 3 || control === 4 ? '04' : '00') + (control === 5 ? '260801100000' : '000000000000'),
      ]);
    }
    for (const mode of [0, 1, 2, 3, 4]) {
      const path = `/history/start-stream?imei=${terminal.phone}${channel(mode)}${history('none')}`;
      await api(`${path}&playback_mode=${mode}&fast_forward_rewind_times=5`);
      expect([mode, terminal.receivedFrames(0x9201).at(-1)?.body.at(-13)]).toEqual([
        mode,
        mode === 1 || mode === 2 ? 5 : 0,
      ]);
    }
  });

  it('sets the type to stop only for a stop, and the stream only for a switch', async () => {
    const terminal = await startAgreeableTerminal();
    for (const control of [0, 1, 2, 3, 4]) {
      const more = `ctrl_instruction=${control}&close_stream_type=2&stream_type=1`;
      await api(`/realtime/control-stream?imei=${terminal.phone}&channel=200&${more}`);
      const rest = terminal.receivedFrames(0x9102).at(-1)?.body.toString('hex');
      expect(rest).toBe(`c80${control}${control === 0 ? '02' : '00'}${control === 1 ? '01' : '00'}`);
    }
  });
});

describe('omitted parameters', () => {
  it('every optional parameter has its default of interface.md', async () => {
    const terminal = await startAgreeableTerminal();
    const imei = `imei=${terminal.phone}&channel=1`;
    for (const { request } of deviceCommands) await endUpload(parseReply(await api(request(terminal.phone))));
    await api(`/realtime/control-stream?${imei}&ctrl_instruction=0`);
    await api(`/history/control-stream?${imei}&playback_control=3`);
    const tail = (messageId: number, bytes: number): string | undefined =>
      terminal.receivedFrames(messageId).at(-1)?.body.subarray(-bytes).toString('hex');
    const { startTime, endTime } = span();
    const times = [startTime, endTime].map((time) => time.slice(2).replaceAll(/\D/g, '')).join('');
    const noAlarm = '00'.repeat(8);
    // Ports: the product's own for TCP, none for UDP. Followed by channel, data type and stream type.
    const port = (name: 'live_port' | 'history_port'): string =>
      harness.product.runtime.jt1078[name].toString(16).padStart(4, '0');
    expect(tail(0x9101, 7)).toBe(`${port('live_port')}0000010000`);
    expect(tail(0x9102, 4)).toBe('01000000');
    expect(tail(0x9205, 24)).toBe(`01${times}${noAlarm}030000`);
    expect(tail(0x9201, 22)).toBe(`${port('history_port')}0000010301010000${times}`);
    expect(tail(0x9202, 9)).toBe('010300000000000000');
    expect(tail(0x9206, 25)).toBe(`01${times}${noAlarm}03000007`);
  });
});

describe('values of the caller', () => {
  const text = (value: string): string =>
    value.length.toString(16).padStart(2, '0') + Buffer.from(value).toString('hex');

  it('sets host and ports of the media server, for live video and playback, and of the FTP server', async () => {
    const terminal = await startAgreeableTerminal();
    const addressOptions: [host: string, tcpPort: number, udpPort: number][] = [
      ['10.0.0.1', 65_535, 1],
      ['media.partner.example', 1, 65_535],
      ['2001:db8::7', 0, 9000],
    ];
    for (const [index, [host, tcpPort, udpPort]] of addressOptions.entries()) {
      const ports = [tcpPort, udpPort].map((port) => port.toString(16).padStart(4, '0')).join('');
      for (const { endpoint, others, messageId } of [live, start]) {
        const address = `&host=${host}&tcp_port=${tcpPort}&udp_port=${udpPort}`;
        await expectAccepted(messageId, `${endpoint}?imei=${terminal.phone}${others(index)}${address}`);
        const body = terminal.receivedFrames(messageId).at(-1)?.body.toString('hex');
        expect(body?.startsWith(`${text(host)}${ports}0${index + 1}`)).toBe(true);
      }
      const ftp = `&host=${host}&port=${udpPort}`;
      await expectAccepted(0x9206, `/videos/upload?imei=${terminal.phone}${clip(index)}${ftp}`);
      const body = terminal.receivedFrames(0x9206).at(-1)?.body.toString('hex');
      expect(body?.startsWith(text(host) + udpPort.toString(16).padStart(4, '0'))).toBe(true);
    }
  });

  it('sends every channel from 0 to 255', async () => {
    const terminal = await startAgreeableTerminal();
    const imei = `imei=${terminal.phone}`;
    for (const number of [0, 1, 37, 128, 255]) {
      const last = (messageId: number, at: number): number | undefined =>
        terminal.receivedFrames(messageId).at(-1)?.body.at(at);
      await expectAccepted(0x9102, `/realtime/control-stream?${imei}&channel=${number}&ctrl_instruction=2`);
      await expectAccepted(0x9202, `/history/control-stream?${imei}&channel=${number}&playback_control=1`);
      await expectAccepted(0x9205, `/history/list-videos?${imei}&channel=${number}&${span().query}`);
      await expectAccepted(0x9101, `/realtime/start-stream?${imei}&channel=${number}`);
      await expectAccepted(0x9201, `/history/start-stream?${imei}&channel=${number}${history('none')}`);
      await expectAccepted(0x9206, `/videos/upload?${imei}&channel=${number}&${span().query}`);
      const sent = [
        last(0x9102, 0),
        last(0x9202, 0),
        last(0x9205, 0),
        last(0x9101, -3),
        last(0x9201, -18),
        last(0x9206, -25),
      ];
      expect(sent).toEqual(sent.map(() => number));
    }
  });
});

describe('bitmasks', () => {
  it('accepts alarm as a full 64-bit number, in a query and in a list', async () => {
    const masks = [0n, 1n, 0x8000_0000n, 0x1_0000_0000n, 2n ** 53n + 1n, 2n ** 64n - 1n];
    const recordings = masks.map((alarmFlags, index) => createRecording(index, { alarmFlags }));
    const terminal = await startAgreeableTerminal({ recordings });
    for (const [index, mask] of masks.entries()) {
      const query = `imei=${terminal.phone}&channel=1&start_time=2026-08-01T00:00:00Z&end_time=2026-08-02T00:00:00Z`;
      const reply = await api(`/history/list-videos?${query}&alarm=${mask}`);
      expect(terminal.receivedFrames(0x9205).at(-1)?.body.readBigUInt64BE(13)).toBe(mask);
      const alarmMasks = [...reply.text.matchAll(/"alarm":(\d+)/g)].map(([, digits]) => BigInt(digits ?? ''));
      expect(alarmMasks).toEqual(masks.filter((one) => mask === 0n || (one & mask) !== 0n));
      await expectAccepted(0x9206, `/videos/upload?imei=${terminal.phone}${clip(index)}&alarm=${mask}`);
      expect(terminal.receivedFrames(0x9206).at(-1)?.body.subarray(-12).readBigUInt64BE(0)).toBe(mask);
    }
  });

  it('sends wifi, lan and mobile_network as the bits of the network conditions', async () => {
    const terminal = await startAgreeableTerminal();
    for (const bits of [1, 2, 3, 4, 5, 6, 7]) {
      const may = (bit: number): boolean => (bits & bit) !== 0;
      const networks = `&wifi=${may(1)}&lan=${may(2)}&mobile_network=${may(4)}`;
      await expectAccepted(0x9206, `/videos/upload?imei=${terminal.phone}${clip(bits)}${networks}`);
      expect(terminal.receivedFrames(0x9206).at(-1)?.body.at(-1)).toBe(bits);
    }
  });
});

describe('returned values', () => {
  it('returns each type of a recording as the terminal sent it; a value outside the standard is 502', async () => {
    const kinds = [0, 1, 2].map(
      (kind): Partial<Recording> => ({ mediaType: kind, streamType: kind, storageType: kind }),
    );
    const terminal = await startAgreeableTerminal({
      recordings: kinds.map((kind, index) => createRecording(index, kind)),
    });
    const query = `imei=${terminal.phone}&channel=0&start_time=2026-08-01T00:00:00Z&end_time=2026-08-02T00:00:00Z`;
    const [status, body] = parseReply(await api(`/history/list-videos?${query}`));
    expect(status).toBe(200);
    const { resources } = body as { resources: Record<string, number>[] };
    // The list contains recordings with pictures, with or without sound. Sound alone was not requested.
    expect(resources.map((one) => [one['resource_type'], one['stream_type'], one['memory_type']])).toEqual([
      [0, 0, 0],
      [2, 2, 2],
    ]);
    terminal.recordings.splice(0, 3, createRecording(0, { streamType: 3 }));
    expect(expectApiError(await api(`/history/list-videos?${query}`), 502)).toContain('stream type 3');
  });

  it.each([
    [0, 'success'],
    [1, 'failure'],
    [2, 'incorrectInfo'],
    [3, 'unsupported'],
  ] as const)('result %d of each command is %s', async (result, name) => {
    const terminal = await startAgreeableTerminal({ respond: (message) => [createGeneralResponse(message, result)] });
    // Excluded: a list has another reply, a wake-up returns success for any result, and a refused upload is 502.
    const others = deviceCommands.filter(({ messageId }) => ![0x8201, 0x9205, 0x9206].includes(messageId));
    for (const { request, messageId } of others)
      expect(parseReply(await api(request(terminal.phone)))).toEqual(toDeviceResponse(messageId, name));
  });
});

const interfaceFile = resolve('../shared/interface.md');
const referenceFile = resolve('../shared/protocol/jt808.md');
if (!existsSync(interfaceFile))
  console.log('shared documents are absent: comparison of the tables with interface.md skipped');
const describeShared = existsSync(interfaceFile) ? describe : describe.skip;

describeShared('the enumeration tables', () => {
  it('contain every enumeration of interface.md with all its values', () => {
    const text = readFileSync(interfaceFile, 'utf8');
    const table = text.slice(text.indexOf('### Enumerations (integers)'), text.indexOf('### Platform records'));
    const rows = [...table.matchAll(/^\| ([^|]+) \| (\d[^|]*) \|$/gm)].map(([, name = '', values = '']) => [
      name,
      [...values.matchAll(/(?:^|, )(\d) /g)].map(([, digit]) => Number(digit)),
    ]);
    const ours = new Map<string, readonly number[]>([
      ...uses.map((use) => [use.row, use.values] as const),
      ['upload action', [0, 1, 2]],
    ]);
    expect(rows).toHaveLength(ours.size);
    expect(Object.fromEntries(rows)).toEqual(Object.fromEntries(ours));
  });

  it('have the meaning that the protocol reference gives the same numbers', () => {
    const reference = readFileSync(referenceFile, 'utf8');
    for (const use of uses) expect([use.row, reference.includes(use.reference)]).toEqual([use.row, true]);
    expect(reference).toContain('0 pause, 1 resume, 2 cancel');
  });
});
