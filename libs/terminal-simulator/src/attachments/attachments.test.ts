import { createHash } from 'node:crypto';
import {
  additionalItemDefinitions,
  alarmAttachmentUpload,
  decodeBody,
  findAdditionalItem,
  locationReport,
  readAlarmTag,
} from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { SimulatedTerminal } from '../terminal.ts';
import type { TerminalOptions } from '../terminal-options.ts';
import { AttachmentSink } from '../testing/attachment-sink.ts';
import { TestPlatform } from '../testing/test-platform.ts';
import type { SafetyAlarmRecord } from './attachments.ts';
import type { AlarmFile, SafetyAlarm } from './safety-alarms.ts';

// The tests use real sockets on a machine that may be busy.
jest.setTimeout(60_000);

const phone = '013800138077';
const alarmNo = '0123456789abcdef'.repeat(2);

/** Returns bytes without repetition, with flags and marks among them. */
const content = (sizeBytes: number): Buffer => {
  const bytes = Buffer.alloc(sizeBytes);
  for (let i = 0; i < sizeBytes; i += 1) bytes[i] = (i * 131 + (i >> 8)) & 0xff;
  bytes.write('~01cd~', Math.min(100, Math.max(0, sizeBytes - 6)), 'latin1');
  return bytes;
};
const picture: AlarmFile = { content: content(150_000), type: 0, channel: 65 };
const video: AlarmFile = { content: content(300_001), type: 2, channel: 1 };

let platform: TestPlatform;
let sink: AttachmentSink;
let terminal: SimulatedTerminal;

beforeEach(async () => {
  platform = await new TestPlatform().listen();
  sink = await new AttachmentSink().listen();
});
afterEach(async () => {
  await terminal.stop();
  await platform.close();
  await sink.close();
});

async function start(options: Partial<TerminalOptions> = {}): Promise<void> {
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone,
    reportIntervalMs: 0,
    attachmentRetryMs: 10,
    ...options,
  });
  terminal.start();
  await terminal.waitUntilOnline();
}

/** Raises an alarm and requests its files, as the platform does. */
async function requestFiles(alarm: Partial<SafetyAlarm> = {}): Promise<SafetyAlarmRecord> {
  const record = terminal.raiseSafetyAlarm({ kind: 'dsm', type: 2, files: [picture, video], ...alarm });
  sendRequest(record);
  await waitFor(() => ['completed', 'failed'].includes(record.uploads.at(-1)?.state ?? ''), 'the end of the upload');
  return record;
}

function sendRequest({ tag }: { tag: Buffer }): number {
  return platform.sendCommand(terminal.phone, alarmAttachmentUpload, {
    serverIp: '127.0.0.1',
    tcpPort: sink.port,
    udpPort: 0,
    tag: readAlarmTag(tag),
    alarmNo,
    reserved: Buffer.alloc(16),
  });
}

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const expectedHashes = [sha256(picture.content), sha256(video.content)];
const receivedHashes = (): string[] => [...sink.files.values()].map((file) => sha256(file.content));

describe('active-safety alarm', () => {
  it.each([
    ['adas', additionalItemDefinitions.adasAlarm, 0x64],
    ['dsm', additionalItemDefinitions.dsmAlarm, 0x65],
    ['bsd', additionalItemDefinitions.bsdAlarm, 0x67],
  ] as const)('of kind %s is reported with a tag that counts its files', async (kind, definition, id) => {
    await start();
    const { report, tag } = terminal.raiseSafetyAlarm({ kind, type: 3, files: [picture, video] });
    const { extras } = decodeBody(locationReport, report.body);
    const alarm = findAdditionalItem(definition, extras);
    expect(alarm).toMatchObject({ alarmId: 1, type: 3, tag: { attachmentCount: 2, terminalId: '0138077', seq: 1 } });
    expect(extras.find((extra) => extra.id === id)?.bytes.subarray(-16)).toEqual(tag);
  });

  it.each([16, 38, 39, 40] as const)('accepts a tag of %d bytes and returns it unchanged', async (tagBytes) => {
    await start();
    const { tag, uploads } = await requestFiles({ tagBytes });
    expect(tag).toHaveLength(tagBytes);
    expect(uploads).toMatchObject([{ state: 'completed' }]);
    expect(sink.lists.map((list) => list.tag.raw)).toEqual([tag]);
  });
});

describe('attachments', () => {
  it('are sent on request, under names of the standard form', async () => {
    await start();
    const { uploads } = await requestFiles();
    await waitFor(() => platform.framesWithId(0x0001).length > 0, '0x0001');
    expect(platform.framesWithId(0x0001)[0]?.body.toString('hex')).toMatch(/^....920800$/);
    const names = [`00_65_6502_0_${alarmNo}.jpg`, `02_1_6502_1_${alarmNo}.mp4`];
    expect(sink.lists).toMatchObject([
      { alarmNo, infoType: 0, phone, header: '2013', files: names.map((name) => ({ name })) },
    ]);
    expect(receivedHashes()).toEqual(expectedHashes);
    expect([sink.announcedNames, sink.completedNames, sink.connections]).toEqual([names, names, 1]);
    expect(sink.packets[0]).toEqual({ offset: 0, length: 65_536 });
    expect(uploads).toMatchObject([
      {
        state: 'completed',
        error: null,
        attempts: 1,
        files: names.map((name) => ({ name, isAcknowledged: true, resends: 0 })),
      },
    ]);
  });

  it('are refused for an unknown alarm', async () => {
    await start();
    const { tag } = terminal.raiseSafetyAlarm({ kind: 'adas', type: 1, files: [picture] });
    const otherRecord = Buffer.from(tag);
    otherRecord.writeUInt8(99, 13);
    sendRequest({ tag: otherRecord });
    await waitFor(() => platform.framesWithId(0x0001).length > 0, '0x0001');
    expect(platform.framesWithId(0x0001)[0]?.body.toString('hex')).toMatch(/^....920801$/);
    expect(sink.connections).toBe(0);
  });

  it('are sent again where chunks were lost, and only there', async () => {
    await start({ attachmentLostChunks: [0, 2] });
    const { uploads } = await requestFiles();
    expect(receivedHashes()).toEqual(expectedHashes);
    expect(uploads[0]?.files.map(({ resends }) => resends)).toEqual([1, 1]);
    expect([...sink.files.values()].map(({ receivedBytes }) => receivedBytes)).toEqual([150_000, 300_001]);
  });

  it.each([
    ['rest', (bytes: number) => bytes < 2 * 300_001],
    ['fromZero', (bytes: number) => bytes > 300_001],
  ] as const)('resume in the middle of a file after a broken connection: %s', async (attachmentResume, isRight) => {
    await start({
      attachmentResume,
      attachmentFaults: [
        { how: 'reset', afterBytes: 200_000 },
        { how: 'finish', afterBytes: 100_000 },
      ],
    });
    const { uploads } = await requestFiles();
    expect(receivedHashes()).toEqual(expectedHashes);
    expect(sink.lists.map(({ infoType }) => infoType)).toEqual([0, 1, 1]);
    expect(uploads).toMatchObject([{ state: 'completed', attempts: 3 }]);
    expect(isRight(uploads[0]?.files.at(-1)?.sentBytes ?? 0)).toBe(true);
  });

  it('can arrive in another order, without 0x1211, and with 0x1212 twice', async () => {
    await start({ attachmentOrder: 'reversed', attachmentSkipsInfo: true, attachmentRepeatsComplete: true });
    await requestFiles();
    expect(receivedHashes()).toEqual(expectedHashes);
    expect(sink.packets[0]).toEqual({ offset: 131_072, length: 18_928 });
    expect([sink.announcedNames.length, sink.completedNames.length]).toEqual([0, 4]);
  });

  it('fail when the platform rejects the list', async () => {
    await start({ attachmentRetries: 2 });
    sink.listResult = 1;
    expect((await requestFiles()).uploads).toMatchObject([
      { state: 'failed', attempts: 1, error: expect.stringContaining('0x1210') },
    ]);
  });

  it('of 2019 terminals carry the long terminal number', async () => {
    await platform.close();
    platform = await new TestPlatform('2019').listen();
    await start({ phone: '00000000013800138078' });
    expect((await requestFiles()).uploads).toMatchObject([{ state: 'completed' }]);
    expect(sink.lists).toMatchObject([{ phone: '00000000013800138078', header: '2019' }]);
  });
});
