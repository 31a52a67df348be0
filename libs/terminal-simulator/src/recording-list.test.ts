import { decodeBody, platformRetransmitRequest, queryResourceList, resourceList } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createRecordings } from './recordings.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { TerminalOptions } from './terminal-options.ts';
import { type ReceivedFrame, TestPlatform } from './testing/test-platform.ts';

const terminalPhone = '013800138001';
const recordingPlan = { channels: [1], seconds: 60, until: new Date('2026-08-01T04:00:00Z'), bitrateKbps: 500 };
const anyRecording = { channel: 0, startTime: null, endTime: null, mediaType: 3, streamType: 0, storageType: 0 };
let platform: TestPlatform;
let terminal: SimulatedTerminal;

beforeEach(async () => {
  platform = await new TestPlatform().listen();
});

afterEach(async () => {
  await terminal.stop();
  await platform.close();
});

async function start(count: number, options: Partial<TerminalOptions> = {}): Promise<void> {
  const recordings = createRecordings({ ...recordingPlan, count });
  const server = { host: '127.0.0.1', port: platform.port };
  terminal = new SimulatedTerminal({ ...server, phone: terminalPhone, reportIntervalMs: 0, recordings, ...options });
  terminal.start();
  await terminal.waitUntilOnline();
}

const queryRecordings = (alarmFlags = 0n): number =>
  platform.sendCommand(terminalPhone, queryResourceList, { ...anyRecording, alarmFlags });

const frames = (): ReceivedFrame[] => platform.framesWithId(0x1205);

const parseList = (parts: readonly ReceivedFrame[]) =>
  decodeBody(
    resourceList,
    Buffer.concat(parts.toSorted((a, b) => (a.subpackage?.no ?? 0) - (b.subpackage?.no ?? 0)).map((part) => part.body)),
  );

describe('list of recordings (0x9205, 0x1205)', () => {
  it('with 5,000 recordings is sent in parts of one message, with consecutive serials', async () => {
    await start(5000);
    const replySerial = queryRecordings();
    await waitFor(() => frames().length > 0, 'first part');
    const total = frames()[0]?.subpackage?.total ?? 0;
    expect(total).toBe(Math.ceil((6 + 5000 * 28) / 1023));
    await waitFor(() => frames().length === total, 'all parts');
    const serials = frames().map((frame) => frame.serial - (frames()[0]?.serial ?? 0));
    expect(serials).toEqual(Array.from({ length: total }, (_unused, index) => index));
    const list = parseList(frames());
    expect(list.replySerial).toBe(replySerial);
    expect(list.items.map((item) => item.startTime)).toEqual(terminal.recordings.map((one) => one.startTime));
  });

  it("resends a lost part on the platform's request", async () => {
    await start(100, { listLostParts: [2] });
    queryRecordings();
    await waitFor(() => frames().length === 2, 'the others');
    const [first] = frames();
    platform.sendCommand(terminalPhone, platformRetransmitRequest, {
      originalSerial: first?.serial ?? 0,
      packageIds: [2],
    });
    await waitFor(() => frames().length === 3, 'the lost part');
    expect(parseList(frames()).items).toHaveLength(100);
  });

  it('is sent in several whole messages if configured, each with the total of the list', async () => {
    await start(70, { listItemsPerMessage: 30, listAcknowledged: true });
    const serial = queryRecordings();
    await waitFor(() => frames().length === 3, 'all messages');
    expect(frames().map((frame) => [frame.subpackage, frame.body.readUInt16BE(0), frame.body.readUInt32BE(2)])).toEqual(
      Array.from({ length: 3 }, () => [null, serial, 70]),
    );
    expect(frames().map((frame) => (frame.body.length - 6) / 28)).toEqual([30, 30, 10]);
    expect(platform.framesWithId(0x0001).map((frame) => [frame.body.readUInt16BE(0), frame.body[4]])).toEqual([
      [serial, 0],
    ]);
  });

  it('states more items than it contains if configured', async () => {
    await start(10, { listMissingItems: 5 });
    queryRecordings();
    await waitFor(() => frames().length === 1, 'the list');
    expect(frames()[0]?.body.readUInt32BE(2)).toBe(15);
    expect(frames()[0]?.body).toHaveLength(6 + 10 * 28);
  });

  it('is one message without items if there are no recordings', async () => {
    await start(0);
    queryRecordings();
    await waitFor(() => frames().length === 1, 'the list');
    expect(parseList(frames()).items).toEqual([]);
  });

  it('is refused with 0x0001 if the behaviour is refusing', async () => {
    await start(10);
    terminal.setBehaviour({ kind: 'refusing', result: 1 }, 0x9205);
    queryRecordings();
    await waitFor(() => platform.framesWithId(0x0001).length === 1, 'the refusal');
    expect(platform.framesWithId(0x0001)[0]?.body.toString('hex', 2)).toBe('920501');
    expect(frames()).toEqual([]);
  });

  it('contains video alarms up to bit 63, and can be filtered by them', async () => {
    await start(10);
    const highest = 1n << 63n;
    const [, marked] = terminal.recordings;
    if (marked === undefined) throw new Error('no recordings');
    marked.alarmFlags = highest | 1n;
    queryRecordings(highest);
    await waitFor(() => frames().length === 1, 'the list');
    expect(parseList(frames()).items.map((item) => [item.startTime, item.alarmFlags])).toEqual([
      [marked.startTime, highest | 1n],
    ]);
  });
});
