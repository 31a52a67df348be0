import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let imei: string;
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  api = await harness.startService();
  imei = await harness.connectDevice(() => createOutcome(0x9201));
});
afterAll(() => harness.close());

const listing = (start: string, end: string) =>
  `/history/list-videos?imei=${imei}&channel=1&start_time=${start}&end_time=${end}`;
const starting = (start: string, end: string) =>
  `/history/start-stream?imei=${imei}&channel=1&resource_type=0&stream_type=1&memory_type=1&start_time=${start}&end_time=${end}`;
const seeking = (time: string) =>
  `/history/control-stream?imei=${imei}&channel=1&playback_control=5&drag_playback_time=${time}`;

const good = '2026-08-01T02:00:00Z';
const invalidTimes: [string, string, RegExp][] = [
  ['an unescaped plus', '2026-08-01T10:00:00+08:00', /has a space in its offset: the \+ must be sent as %2B/],
  ['nothing', '', /must be an RFC 3339 date-time/],
  ['no offset', '2026-08-01T10:00:00', /must be an RFC 3339 date-time/],
  ['a space for the T', '2026-08-01%2010:00:00Z', /must be an RFC 3339 date-time/],
  ['no day', '2026-02-29T10:00:00Z', /must be an RFC 3339 date-time/],
  ['a leap second in the middle of a month', '2026-08-15T23:59:60Z', /must be an RFC 3339 date-time/],
  ['a number', '1785549600', /must be an RFC 3339 date-time/],
];

describe('a time', () => {
  it.each(invalidTimes)('is 400 with its name if it has %s: %s', async (_what, text, sentence) => {
    const end = '2026-09-01T00:00:00Z';
    for (const [path, name] of [
      [listing(text, end), 'start_time'],
      [listing(good, text), 'end_time'],
      [starting(text, end), 'start_time'],
      [starting(good, text), 'end_time'],
      [seeking(text), 'drag_playback_time'],
    ] as const) {
      const { status, body } = await api.get(path);
      expect({ status, body }).toEqual({ status: 400, body: { status: 400, error: expect.stringMatching(sentence) } });
      expect((body as { error: string }).error).toContain(` ${name} `);
    }
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it.each([
    ['1999-12-31T15:59:59Z', "start_time must be in the years 2000 to 2099 on the camera's clock (UTC+08:00)"],
    ['2099-12-31T23:59:59Z', 'start_time must be in the years 2000 to 2099'],
    ['2026-08-01T03:00:00.5Z', 'start_time must be before end_time'],
    ['2026-08-01T03:00:00Z', 'start_time must be before end_time'],
    ['2026-08-01T04:00:00Z', 'start_time must be before end_time'],
  ])('%s as the start is 400: %s', async (start, sentence) => {
    for (const path of [listing(start, '2026-08-01T03:00:00.9Z'), starting(start, '2026-08-01T03:00:00.9Z')])
      expect(await api.get(path)).toMatchObject({ status: 400, body: { error: expect.stringContaining(sentence) } });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it("is limited on the camera's clock, not on the caller's", async () => {
    const other = await harness.connectDevice(() => createOutcome(0x9202));
    harness.utcOffsets.set(other, '-12:00');
    const seek = (time: string) =>
      api.get(
        `/history/control-stream?imei=${other}&channel=1&playback_control=5&drag_playback_time=${encodeURIComponent(time)}`,
      );
    expect(await seek('2000-01-01T00:00:00Z')).toMatchObject({
      status: 400,
      body: {
        error: "The parameter drag_playback_time must be in the years 2000 to 2099 on the camera's clock (UTC-12:00).",
      },
    });
    expect((await seek('2100-01-01T11:59:59+00:00')).status).toBe(200);
    expect(harness.findCommands(other).map(({ command }) => command)).toEqual([
      { kind: 'controlPlayback', channel: 1, control: 5, speed: 0, seekTime: '991231235959' },
    ]);
  });
});

describe('alarm', () => {
  it.each(['18446744073709551616', '-1', '1e3', 'NaN', '', '1.0', '99999999999999999999'])(
    '%j is 400 with its name',
    async (alarm) => {
      expect(await api.get(`${listing(good, '2026-08-01T03:00:00Z')}&alarm=${alarm}`)).toMatchObject({
        status: 400,
        body: {
          status: 400,
          error: 'The query parameter alarm must be an integer from 0 to 18446744073709551615.',
        },
      });
    },
  );
});
