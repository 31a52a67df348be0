import { callUseCase, type DeviceResponse, deviceApi, type Outcome } from '@fleet/bus';
import { type BodyOf, encodeBody, resourceList } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  api = await harness.startService();
});
afterAll(() => harness.close());

type Item = BodyOf<typeof resourceList>['items'][number];
const item: Item = {
  channel: 1,
  startTime: '2026-08-01T10:00:00',
  endTime: '2026-08-01T10:05:00',
  alarmFlags: 0n,
  mediaType: 0,
  streamType: 1,
  storageType: 1,
  fileSize: 4_294_967_295,
};
const message = (body: Buffer): DeviceResponse['message'] => ({
  id: 0x1205,
  edition: '2019',
  bodyBase64: body.toString('base64'),
});
const list = (items: readonly Item[], total = items.length): Outcome => ({
  kind: 'answered',
  answer: {
    commandMessageId: 0x9205,
    commandSerialNo: 1,
    result: null,
    message: message(encodeBody(resourceList, { replySerial: 1, total, items: [...items] }, '2019')),
  },
});
const hour = '&start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z';
const listVideos = (imei: string, more = hour, client = api) =>
  client.get(`/history/list-videos?imei=${imei}&channel=1${more}`);

describe('the request to the camera', () => {
  const plain = {
    kind: 'listRecordings',
    channel: 1,
    startTime: '260801100000',
    endTime: '260801110000',
    alarmFlags: '0',
    mediaType: 3,
    streamType: 0,
    storageType: 0,
  };
  it.each([
    [hour, {}],
    [
      `${hour}&resource_type=1&stream_type=2&memory_type=1&alarm=5`,
      { mediaType: 1, streamType: 2, storageType: 1, alarmFlags: '5' },
    ],
    [`${hour}&alarm=18446744073709551615`, { alarmFlags: '18446744073709551615' }],
    ['&start_time=2026-08-01T10:00:00.9%2B08:00&end_time=2026-07-31T23:00:00-04:00', {}],
  ])('with %s', async (query, changed) => {
    const imei = await harness.connectDevice(() => list([]));
    expect(await listVideos(imei, query)).toMatchObject({ status: 200, body: { total_resources: 0, resources: [] } });
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual([{ ...plain, ...changed }]);
  });

  it('has channel 0 for all channels', async () => {
    const imei = await harness.connectDevice(() => list([]));
    expect((await api.get(`/history/list-videos?imei=${imei}&channel=0${hour}`)).status).toBe(200);
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ channel: 0 });
  });

  it("uses the device's own clock", async () => {
    const imei = await harness.connectDevice(() => list([item]));
    harness.utcOffsets.set(imei, '-03:30');
    expect((await listVideos(imei)).body).toMatchObject({
      resources: [{ playback_start_time: '2026-08-01T10:00:00-03:30', playback_end_time: '2026-08-01T10:05:00-03:30' }],
    });
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({
      startTime: '260731223000',
      endTime: '260731233000',
    });
  });
});

describe('the list', () => {
  it('contains each field, and alarms with all their digits', async () => {
    const second = { ...item, channel: 2, alarmFlags: 2n ** 64n - 1n, mediaType: 2, streamType: 2, storageType: 2 };
    const imei = await harness.connectDevice(() => list([item, second]));
    const response = await fetch(`${api.base}/api/v1/history/list-videos?imei=${imei}&channel=0${hour}`);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(await response.text()).toBe(
      '{"total_resources":2,"resources":[' +
        '{"logical_channel_no":1,"playback_start_time":"2026-08-01T10:00:00+08:00","playback_end_time":"2026-08-01T10:05:00+08:00",' +
        '"alarm":0,"resource_type":0,"stream_type":1,"memory_type":1,"file_size":4294967295},' +
        '{"logical_channel_no":2,"playback_start_time":"2026-08-01T10:00:00+08:00","playback_end_time":"2026-08-01T10:05:00+08:00",' +
        '"alarm":18446744073709551615,"resource_type":2,"stream_type":2,"memory_type":2,"file_size":4294967295}]}',
    );
  });

  it('may have thousands of entries', async () => {
    const imei = await harness.connectDevice(() => list(Array.from({ length: 12_000 }, () => item)));
    const { body } = (await listVideos(imei)) as { body: { total_resources: number; resources: unknown[] } };
    expect(body.total_resources).toBe(12_000);
    expect(body.resources).toHaveLength(12_000);
  });

  it('counts the received recordings if a device announces fewer', async () => {
    const imei = await harness.connectDevice(() => list([item, item], 1));
    expect(await listVideos(imei)).toMatchObject({ status: 200, body: { total_resources: 2 } });
  });
});

describe('an invalid list', () => {
  const truncatedOutcome: Outcome = {
    kind: 'answered',
    answer: {
      commandMessageId: 0x9205,
      commandSerialNo: 1,
      result: null,
      message: message(Buffer.from('0001', 'hex')),
    },
  };
  it.each<[string, Outcome, number, RegExp]>([
    ['a refusal', createOutcome(0x9205, 1), 502, /refused to list its recordings: it returned failure\./],
    ['an unknown command', createOutcome(0x9205, 3), 502, /it returned unsupported\./],
    ['another code', createOutcome(0x9205, 77), 502, /it returned result code 77\./],
    ['a success without a list', createOutcome(0x9205, 0), 502, /recordings/],
    ['fewer recordings than announced', list([item, item], 5), 502, /incomplete: 2 of 5 came\./],
    ['none of those announced', list([], 5), 502, /incomplete: 0 of 5 came\./],
    ['a truncated list', truncatedOutcome, 502, /could not be read/],
    ['a recording without a time', list([{ ...item, startTime: null }]), 502, /recording 1 has no valid time\./],
    ['an invalid time', list([item, { ...item, endTime: { bcd: '261301000000' } }]), 502, /recording 2 has no valid/],
    ['an unknown resource type', list([{ ...item, mediaType: 4 }]), 502, /resource type 4/],
    ['an unknown stream type', list([{ ...item, streamType: 3 }]), 502, /stream type 3/],
    ['an unknown memory type', list([{ ...item, storageType: 3 }]), 502, /memory type 3/],
    ['nothing readable', { kind: 'unreadable', detail: '0x1205 ends inside an item' }, 502, /ends inside an item\./],
    ['no response', { kind: 'timedOut' }, 504, /did not reply/],
    ['no device', { kind: 'notConnected' }, 404, /not connected/],
    ['an unavailable broker', { kind: 'brokerAway' }, 503, /broker/],
  ])('%s', async (_what, outcome, status, sentence) => {
    const imei = await harness.connectDevice(() => outcome);
    expect(await listVideos(imei)).toMatchObject({
      status,
      body: { status, error: expect.stringMatching(sentence) },
    });
  });
});

describe('the camera clock', () => {
  it('that cannot be looked up is 503, and sends no command', async () => {
    const alone = await DeviceApiHarness.open();
    try {
      const service = await alone.startService();
      const imei = await alone.connectDevice(() => list([]));
      expect(await listVideos(imei, hour, service)).toMatchObject({
        status: 503,
        body: { status: 503, error: "The camera's UTC offset cannot be read at the moment. Retry." },
      });
      expect(alone.findCommands(imei)).toEqual([]);
    } finally {
      await alone.close();
    }
  });

  it('of a changed record takes effect after a moment', async () => {
    const imei = await harness.connectDevice(() => list([item]));
    const fetchFirstStart = async () =>
      ((await listVideos(imei)).body as { resources: { playback_start_time: string }[] }).resources[0]
        ?.playback_start_time;
    expect(await fetchFirstStart()).toBe('2026-08-01T10:00:00+08:00');
    harness.utcOffsets.set(imei, '+00:00');
    await waitFor(async () => (await fetchFirstStart()) === '2026-08-01T10:00:00+00:00', 'the new offset');
    expect(await fetchFirstStart()).toBe('2026-08-01T10:00:00+00:00');
  });
});

describe('over the bus', () => {
  const request = {
    channel: 0,
    startMs: Date.parse('2026-08-01T02:00:00Z'),
    endMs: Date.parse('2026-08-01T03:00:00Z'),
    resourceType: 3,
    streamType: 0,
    memoryType: 0,
    alarmFlags: '9223372036854775808',
  };

  it('returns the same, with alarms in decimal', async () => {
    const imei = await harness.connectDevice(() => list([{ ...item, alarmFlags: 2n ** 63n }]));
    const options = { timeoutMs: 10_000 };
    expect(await callUseCase(harness.bus, deviceApi.listRecordings, { imei, ...request }, options)).toEqual({
      cameraUtcOffset: '+08:00',
      recordings: [
        {
          channel: 1,
          startTime: '2026-08-01T10:00:00+08:00',
          endTime: '2026-08-01T10:05:00+08:00',
          alarmFlags: '9223372036854775808',
          resourceType: 0,
          streamType: 1,
          memoryType: 1,
          fileSizeBytes: 4_294_967_295,
        },
      ],
    });
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ channel: 0, alarmFlags: '9223372036854775808' });
    const refused = callUseCase(
      harness.bus,
      deviceApi.listRecordings,
      { imei, ...request, endMs: request.startMs },
      options,
    );
    await expect(refused).rejects.toMatchObject({ status: 400 });
  });
});
