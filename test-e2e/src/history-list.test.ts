import { encodeBody, resourceList } from '@fleet/jt808';
import {
  createRecordings,
  type PlatformMessage,
  type Recording,
  type SimulatedTerminal,
  type TerminalMessage,
} from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { leaseHarness, type ProductHarness, shortWaitSettings, uniquePhone } from './testing/harness.ts';
import { createRecording, editions } from './testing/playback.ts';
import { createVehicle } from './testing/vehicle.ts';

let harness: ProductHarness;

beforeAll(async () => {
  harness = await leaseHarness(shortWaitSettings);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const day = '2026-08-01T';
const disk: Record<string, Recording> = {
  plain: createRecording(`${day}10:00:00`, `${day}10:10:00`),
  sub: createRecording(`${day}10:10:00`, `${day}10:20:00`, { streamType: 2, alarmFlags: 1n }),
  backup: createRecording(`${day}10:20:00`, `${day}10:30:00`, {
    storageType: 2,
    mediaType: 2,
    alarmFlags: 2n ** 63n + 2n,
    fileSizeBytes: 4_294_967_295,
  }),
  sound: createRecording(`${day}10:30:00`, `${day}10:40:00`, { mediaType: 1, alarmFlags: 2n ** 32n }),
  second: createRecording(`${day}10:00:00`, `${day}10:10:00`, { channel: 2, alarmFlags: 2n ** 64n - 1n }),
};
const wholeDay = 'start_time=2026-08-01T00:00:00%2B08:00&end_time=2026-08-02T00:00:00%2B08:00';

const list = (imei: string, query = `channel=1&${wholeDay}`) =>
  harness.get(`/history/list-videos?imei=${imei}&${query}`);

interface VideoResource {
  logical_channel_no: number;
  playback_start_time: string;
}

/** Returns the names of the listed recordings. */
async function listNames(imei: string, query: string): Promise<string[]> {
  const { status, body } = await list(imei, query);
  expect(status).toBe(200);
  const { total_resources, resources } = body as { total_resources: number; resources: VideoResource[] };
  expect(total_resources).toBe(resources.length);
  return resources.map((entry) => {
    const found = Object.entries(disk).find(
      ([, { channel, startTime }]) =>
        channel === entry.logical_channel_no && `${startTime}+08:00` === entry.playback_start_time,
    );
    return found?.[0] ?? 'unknown';
  });
}

describe.each(editions)('a terminal of edition %s with %i digits', (edition, digits) => {
  let terminal: SimulatedTerminal;
  beforeAll(async () => {
    const recordings = Object.values(disk);
    terminal = await harness.startTerminal({ edition, phone: uniquePhone(digits), recordings });
  }, 90_000);

  it.each([
    ['channel=1', ['plain', 'sub', 'backup']],
    ['channel=2', ['second']],
    ['channel=0', ['plain', 'sub', 'backup', 'second']],
    ['channel=3', []],
    ['channel=1&resource_type=0', ['plain', 'sub']],
    ['channel=1&resource_type=1', ['sound']],
    ['channel=1&resource_type=2', ['backup']],
    ['channel=1&resource_type=3', ['plain', 'sub', 'backup']],
    ['channel=1&stream_type=0', ['plain', 'sub', 'backup']],
    ['channel=1&stream_type=1', ['plain', 'backup']],
    ['channel=1&stream_type=2', ['sub']],
    ['channel=1&memory_type=0', ['plain', 'sub', 'backup']],
    ['channel=1&memory_type=1', ['plain', 'sub']],
    ['channel=1&memory_type=2', ['backup']],
    ['channel=1&alarm=0', ['plain', 'sub', 'backup']],
    ['channel=1&alarm=1', ['sub']],
    ['channel=1&alarm=9223372036854775808', ['backup']],
    ['channel=1&alarm=9223372036854775809', ['sub', 'backup']],
    ['channel=1&alarm=4611686018427387904', []],
    ['channel=0&alarm=4611686018427387904', ['second']],
    ['channel=1&resource_type=1&alarm=4294967296', ['sound']],
    ['channel=1&resource_type=2&stream_type=1&memory_type=2&alarm=2', ['backup']],
    ['channel=1&resource_type=2&stream_type=2', []],
  ])('lists by %s', async (query, expected) => {
    expect(await listNames(terminal.phone, `${query}&${wholeDay}`)).toEqual(expected);
  });

  it.each([
    ['2026-08-01T10:05:00%2B08:00', '2026-08-01T10:15:00%2B08:00', ['plain', 'sub']],
    ['2026-08-01T02:05:00Z', '2026-08-01T02:10:00Z', ['plain']],
    ['2026-07-31T21:20:00-05:00', '2026-07-31T21:20:01.999-05:00', ['backup']],
    ['2026-08-01T10:40:00%2B08:00', '2026-08-01T11:00:00%2B08:00', []],
  ])('lists from %s to %s', async (start, end, expected) => {
    expect(await listNames(terminal.phone, `channel=1&start_time=${start}&end_time=${end}`)).toEqual(expected);
  });

  it('returns every field, with all digits of 64-bit alarms', async () => {
    const url = `${harness.product.runtime.base_url}/api/v1/history/list-videos?imei=${terminal.phone}&channel=1&${wholeDay}`;
    const text = await (await fetch(`${url}&memory_type=2`)).text();
    expect(text).toContain('"alarm":9223372036854775810');
    expect(JSON.parse(text)).toEqual({
      total_resources: 1,
      resources: [
        {
          logical_channel_no: 1,
          playback_start_time: '2026-08-01T10:20:00+08:00',
          playback_end_time: '2026-08-01T10:30:00+08:00',
          alarm: Number(2n ** 63n + 2n),
          resource_type: 2,
          stream_type: 1,
          memory_type: 2,
          file_size: 4_294_967_295,
        },
      ],
    });
    expect(await (await fetch(url.replace('channel=1', 'channel=2'))).text()).toContain(
      '"alarm":18446744073709551615,',
    );
  });

  it('starts no playback where nothing is recorded', async () => {
    const span = 'start_time=2026-08-03T00:00:00Z&end_time=2026-08-03T01:00:00Z';
    const what = `imei=${terminal.phone}&channel=1&resource_type=0&stream_type=1&memory_type=1&${span}`;
    expect(await harness.get(`/history/start-stream?${what}`)).toMatchObject({
      status: 200,
      body: { response_id: '0x9201', result: 'failure' },
    });
    expect((await harness.get(`/history/stream.flv?imei=${terminal.phone}&channel=1`)).status).toBe(404);
  });
});

describe('a long list', () => {
  it('is complete although the terminal sends it in many parts', async () => {
    const plan = {
      channels: [1, 2],
      count: 2_500,
      seconds: 60,
      until: new Date('2026-08-01T04:00:00Z'),
      bitrateKbps: 500,
    };
    const terminal = await harness.startTerminal({ recordings: createRecordings(plan), edition: '2013' });
    const span = 'start_time=2026-07-01T00:00:00Z&end_time=2026-09-01T00:00:00Z';
    const { status, body } = await list(terminal.phone, `channel=0&${span}`);
    expect(status).toBe(200);
    const { total_resources, resources } = body as { total_resources: number; resources: VideoResource[] };
    expect(total_resources).toBe(5_000);
    expect(new Set(resources.map((one) => `${one.logical_channel_no} ${one.playback_start_time}`)).size).toBe(5_000);
  }, 60_000);
});

describe('a camera with its own time zone', () => {
  it('is queried and returned in the time zone of its vehicle record', async () => {
    const phone = uniquePhone();
    const recordings = [createRecording(`${day}10:00:00`, `${day}10:10:00`)];
    const terminal = await harness.startTerminal({ phone, zoneMinutes: -210, recordings });
    const span = 'start_time=2026-08-01T13:25:00Z&end_time=2026-08-01T13:35:00Z';
    expect(await list(phone, `channel=1&${span}`)).toMatchObject({ status: 200, body: { total_resources: 0 } });
    await createVehicle(harness, phone, '-03:30');
    const entry = await waitFor(async () => {
      const { body } = await list(phone, `channel=1&${span}`);
      return (body as { total_resources: number }).total_resources === 1 && body;
    }, 'the vehicle record to take effect');
    expect(entry).toMatchObject({
      resources: [{ playback_start_time: '2026-08-01T10:00:00-03:30', playback_end_time: '2026-08-01T10:10:00-03:30' }],
    });
    // On the wire: 10:00 local time is 13:30 UTC.
    const what = 'resource_type=0&stream_type=1&memory_type=1&start_time=2026-08-01T13:30:00Z';
    const start = await harness.get(
      `/history/start-stream?imei=${phone}&channel=1&${what}&end_time=2026-08-01T21:31:00%2B08:00`,
    );
    expect(start).toMatchObject({ status: 200, body: { response_id: '0x9201', result: 'success' } });
    expect(terminal.receivedFrames(0x9201)[0]?.body.subarray(-12).toString('hex')).toBe('260801100000260801100100');
    const seek = '&playback_control=5&drag_playback_time=2026-08-01T13:30:30Z';
    await harness.get(`/history/control-stream?imei=${phone}&channel=1${seek}`);
    expect(terminal.receivedFrames(0x9202)[0]?.body.toString('hex')).toBe('010500260801100030');
    // Outside the years of the camera's clock, but not of the caller's.
    expect(await list(phone, 'channel=1&start_time=2000-01-01T00:00:00Z&end_time=2000-02-01T00:00:00Z')).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('UTC-03:30') },
    });
    await harness.get(`/history/control-stream?imei=${phone}&channel=1&playback_control=2`);
  }, 60_000);
});

describe('an invalid list reply', () => {
  const createGeneralResponse = ({ messageId, serial }: PlatformMessage, result: number): TerminalMessage => {
    const body = Buffer.alloc(5, result);
    body.writeUInt16BE(serial, 0);
    body.writeUInt16BE(messageId, 2);
    return { messageId: 0x0001, body };
  };
  const item = { ...disk['plain'], fileSize: 1 } as Parameters<
    typeof encodeBody<typeof resourceList>
  >[1]['items'][number];
  const encodeList = ({ serial }: PlatformMessage, total: number, more = {}): TerminalMessage => ({
    messageId: 0x1205,
    body: encodeBody(resourceList, { replySerial: serial, total, items: [{ ...item, ...more }] }, '2013'),
  });
  it.each<[string, number, RegExp, (message: PlatformMessage) => TerminalMessage[]]>([
    ['a refusal', 502, /refused to list its recordings/, (message) => [createGeneralResponse(message, 1)]],
    ['an unknown command', 502, /unsupported/, (message) => [createGeneralResponse(message, 3)]],
    ['fewer recordings than announced', 502, /incomplete: 1 of 7 came/, (message) => [encodeList(message, 7)]],
    [
      'an invalid time',
      502,
      /no valid time/,
      (message) => [encodeList(message, 1, { endTime: { bcd: '269901100000' } })],
    ],
    ['an acknowledgement without a list', 504, /did not reply/, (message) => [createGeneralResponse(message, 0)]],
    ['silence', 504, /did not reply/, () => []],
  ])(
    'reports %s as %i with an error message',
    async (_what, status, sentence, respond) => {
      const terminal = await harness.startTerminal({
        edition: '2013',
        respond: (message) => (message.messageId === 0x9205 ? respond(message) : undefined),
      });
      expect(await list(terminal.phone)).toMatchObject({
        status,
        body: { status, error: expect.stringMatching(sentence) },
      });
    },
    60_000,
  );
});
