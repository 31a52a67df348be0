import { encodeAttachmentPacket, encodeFrame } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { AttachmentClient } from '../testing/attachment-client.ts';
import { AttachmentHarness } from '../testing/attachment-harness.ts';
import { clipBytes, sha256 } from '../testing/upload-harness.ts';

// Real sockets and files on a machine that may be busy.
jest.setTimeout(60_000);

const phone = '013800138077';
const picture = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), clipBytes(200_000, 1)]);
const film = Buffer.concat([Buffer.from('0000001866747970', 'hex'), clipBytes(300_000, 2)]);
const jpg = (alarmNo: string): string => `00_65_6502_0_${alarmNo}.jpg`;
const mp4 = (alarmNo: string): string => `02_1_6502_1_${alarmNo}.mp4`;

let harness: AttachmentHarness;
let client: AttachmentClient;
let alarmNo: string;
let a: string;
let b: string;

async function start(...options: ConstructorParameters<typeof AttachmentHarness>): Promise<void> {
  await harness?.stop();
  harness = new AttachmentHarness(...options);
  await harness.server.start();
  alarmNo = harness.expect(phone);
  [a, b] = [jpg(alarmNo), mp4(alarmNo)];
  client = await harness.connect(phone);
}

beforeEach(() => start());
afterEach(() => harness.stop());

const files = (): Record<string, number> => ({ [a]: picture.length, [b]: film.length });
const storedHashes = (): string[] => harness.stored.map(({ content }) => sha256(content));

/** Sends a whole file in chunks. */
function send(name: string, bytes: Buffer, chunkBytes = 65_536): void {
  for (let at = 0; at < bytes.length; at += chunkBytes) client.sendData(name, at, bytes.subarray(at, at + chunkBytes));
}

describe('AttachmentServer', () => {
  it('receives the files of an alarm and confirms each once it is stored', async () => {
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    for (const [name, bytes, type] of [
      [a, picture, 0],
      [b, film, 2],
    ] as const) {
      expect(await client.sendFileInfo(name, bytes.length, type)).toBe(0);
      send(name, bytes);
      expect(await client.sendFileComplete(name, bytes.length, type)).toEqual({
        name,
        type,
        result: 0,
        retransmit: [],
      });
      expect(harness.stored.at(-1)?.content.equals(bytes)).toBe(true);
    }
    const shared = {
      imei: '13800138077',
      source: 'alarm',
      multimediaId: null,
      place: null,
      takenAt: '2026-11-22T10:00:00',
    };
    expect(harness.stored.map(({ metadata }) => metadata)).toMatchObject([
      { ...shared, kind: 'image', mimeType: 'image/jpeg', channel: 65, fileIdSeed: `attachment/${alarmNo}/${a}` },
      { ...shared, kind: 'video', mimeType: 'video/mp4', channel: 1 },
    ]);
    expect(harness.stored[0]?.metadata.attachment).toEqual({
      alarmNo,
      accountId: 1,
      vehicleId: 2,
      notificationId: 3,
      name: a,
    });
    expect(harness.expected.get(alarmNo)?.files.map(({ name }) => name)).toEqual([a, b]);
    expect([await harness.listFiles(), harness.alarms.openFiles]).toEqual([[], 0]);
    expect(await harness.metric('bytes_total')).toBe(picture.length + film.length);
  });

  it('responds with the edition and the number format of the terminal, in separate frames', async () => {
    const long = await harness.connect('00000000013800138077', '2019');
    expect(await long.sendAlarmInfo(alarmNo, files())).toBe(0);
    expect(long.received.map(({ phone: number }) => number)).toEqual(['00000000013800138077']);
  });

  it('accepts a list that is split into subpackages', async () => {
    expect(await client.sendAlarmInfo(alarmNo, files(), { maxBodyBytes: 60 })).toBe(0);
    send(a, picture);
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
  });

  it('writes data at its offset in any order and requests the missing ranges', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 100_000, picture.subarray(100_000));
    client.sendData(a, 0, picture.subarray(0, 40_000));
    client.sendData(a, 30_000, picture.subarray(30_000, 50_000));
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({
      result: 1,
      retransmit: [{ offset: 50_000, length: 50_000 }],
    });
    client.sendData(a, 50_000, picture.subarray(50_000, 100_000));
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(picture)]);
  });

  it('requests up to 255 missing ranges, and the rest in the next round', async () => {
    const bytes = clipBytes(1_000, 5);
    await client.sendAlarmInfo(alarmNo, { [a]: 1_000 });
    for (let at = 1; at < 1_000; at += 2) client.sendData(a, at, bytes.subarray(at, at + 1));
    const first = await client.sendFileComplete(a, 1_000);
    expect(first?.retransmit).toHaveLength(255);
    for (const { offset, length } of first?.retransmit ?? [])
      client.sendData(a, offset, bytes.subarray(offset, offset + length));
    const second = await client.sendFileComplete(a, 1_000);
    expect(second?.retransmit.map(({ offset }) => offset)).toEqual(Array.from({ length: 245 }, (_, i) => 510 + 2 * i));
    for (const { offset, length } of second?.retransmit ?? [])
      client.sendData(a, offset, bytes.subarray(offset, offset + length));
    expect(await client.sendFileComplete(a, 1_000)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(bytes)]);
  });

  it('writes nothing beyond the announced size', async () => {
    await client.sendAlarmInfo(alarmNo, { [a]: 100 });
    client.sendData(a, 90, clipBytes(50, 1));
    client.sendData(a, 4_000_000_000, clipBytes(50, 1));
    client.sendData(a, 0, picture.subarray(0, 90));
    expect(await client.sendFileComplete(a, 100)).toMatchObject({ result: 0 });
    expect(harness.stored[0]?.content).toHaveLength(100);
  });

  it('restarts a file that is shorter than the data received for it', async () => {
    await client.sendAlarmInfo(alarmNo, { [a]: 1_000 });
    client.sendData(a, 0, clipBytes(1_000, 1));
    expect(await client.sendFileComplete(a, 500)).toMatchObject({
      result: 1,
      retransmit: [{ offset: 0, length: 500 }],
    });
    client.sendData(a, 0, clipBytes(500, 2));
    expect(await client.sendFileComplete(a, 500)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(clipBytes(500, 2))]);
  });

  it('accepts files without 0x1211, unlisted files, empty files and truncated names', async () => {
    await client.sendAlarmInfo(alarmNo, {});
    const long = `${'n'.repeat(60)}.jpg`;
    expect(await client.sendFileInfo(long, 10)).toBe(0);
    client.sendData(long, 0, clipBytes(10));
    expect(await client.sendFileComplete(long, 10)).toMatchObject({ name: long, result: 0 });
    expect(await client.sendFileComplete('empty.bin', 0, 4)).toMatchObject({ result: 0 });
    expect(await client.sendFileComplete('empty.bin', 0, 4)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(clipBytes(10)), sha256(Buffer.alloc(0))]);
    expect(harness.expected.get(alarmNo)?.files.map(({ name }) => name)).toEqual([long, 'empty.bin']);
    expect([await harness.listFiles(), harness.alarms.openFiles]).toEqual([[], 0]);
  });

  it('stores files of the same name for each alarm when the alarms are sent one after another', async () => {
    const alike = '00_65_6502_0.jpg';
    const another = harness.expect(phone);
    for (const [no, bytes] of [
      [alarmNo, picture],
      [another, film],
    ] as const) {
      expect(await client.sendAlarmInfo(no, { [alike]: bytes.length })).toBe(0);
      expect(await client.sendFileInfo(alike, bytes.length)).toBe(0);
      send(alike, bytes);
      expect(await client.sendFileComplete(alike, bytes.length)).toMatchObject({ result: 0 });
      expect(await client.sendFileComplete(alike, bytes.length)).toMatchObject({ result: 0 });
    }
    expect(storedHashes()).toEqual([sha256(picture), sha256(film)]);
    expect(harness.stored.map(({ metadata }) => metadata.attachment?.alarmNo)).toEqual([alarmNo, another]);
  });

  it('assigns files of the same name by size, and resolves truncated names, when all alarms are listed first', async () => {
    const alike = `${'n'.repeat(60)}.jpg`;
    const another = harness.expect(phone);
    expect(await client.sendAlarmInfo(alarmNo, { [alike]: picture.length })).toBe(0);
    expect(await client.sendAlarmInfo(another, { [alike]: film.length })).toBe(0);
    for (const bytes of [picture, film]) {
      expect(await client.sendFileInfo(alike, bytes.length)).toBe(0);
      send(alike, bytes);
      expect(await client.sendFileComplete(alike, bytes.length)).toMatchObject({ result: 0 });
    }
    expect(storedHashes()).toEqual([sha256(picture), sha256(film)]);
    expect(harness.stored.map(({ metadata }) => metadata.attachment?.alarmNo)).toEqual([alarmNo, another]);
  });

  it('confirms a repeated 0x1212 and stores the file once', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    send(a, picture);
    const first = client.sendFileComplete(a, picture.length);
    const second = client.sendFileComplete(a, picture.length);
    expect([await first, await second]).toMatchObject([{ result: 0 }, { result: 0 }]);
    expect(harness.stored).toHaveLength(1);
  });

  it('responds to unknown messages as unsupported and accepts heartbeats', async () => {
    expect(await client.sendAndWaitForResult(0x0002, client.encodeRawFrames(0x0002, Buffer.alloc(0)))).toBe(0);
    expect(await client.sendAndWaitForResult(0x0200, client.encodeRawFrames(0x0200, Buffer.alloc(28)))).toBe(3);
    expect(await client.sendAndWaitForResult(0x1210, client.encodeRawFrames(0x1210, Buffer.alloc(5)))).toBe(2);
    expect(await client.sendAndWaitForResult(0x1211, client.encodeRawFrames(0x1211, Buffer.from([9])))).toBe(2);
    client.socket.write(client.encodeRawFrames(0x0001, Buffer.alloc(5)));
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    expect(client.received).toHaveLength(5);
  });
});

describe('AttachmentServer limits', () => {
  it.each([
    ['an unexpected alarm number', async () => client.sendAlarmInfo('f'.repeat(32), files())],
    ['an invalid alarm number', async () => client.sendAlarmInfo('$ne', files())],
    [
      'an expired alarm',
      async () => client.sendAlarmInfo(harness.expect(phone, { expiresAtMs: Date.now() - 1 }), files()),
    ],
    ['an alarm of another terminal', async () => client.sendAlarmInfo(harness.expect('013800138099'), files())],
  ])('refuses a list with %s and ends the connection the third time', async (_name, list) => {
    expect(await list()).toBe(1);
    expect(await list()).toBe(1);
    expect(await list()).toBe(1);
    await client.waitForClose();
    expect(harness.opened).toBe(0);
    await waitFor(async () => (await harness.metric('closed_total', { reason: 'refused' })) === 1);
  });

  it('refuses data and files before a list, and frames of another terminal after it', async () => {
    client.sendData(a, 0, picture);
    expect(await client.sendFileInfo(a, picture.length)).toBe(1);
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    const other = encodeFrame({
      messageId: 0x1211,
      phone: '013800138099',
      serial: client.lastSerial,
      body: Buffer.from('0161000000000a', 'hex'),
    });
    expect(await client.sendAndWaitForResult(0x1211, other)).toBe(1);
    expect(harness.opened).toBe(0);
    expect(await harness.metric('dropped_total', { kind: 'unknownFile' })).toBe(1);
  });

  it('stores a file whose name looks like a path without using the name on disk', async () => {
    const name = '../../../etc/passwd';
    await client.sendAlarmInfo(alarmNo, { [name]: 4 });
    client.sendData(name, 0, Buffer.from('root'));
    await waitFor(async () => (await harness.listFiles()).length === 1);
    expect(await harness.listFiles()).toEqual(['1']);
    expect(await client.sendFileComplete(name, 4, 3)).toMatchObject({ name, result: 0 });
    expect(harness.stored[0]?.metadata).toMatchObject({
      kind: 'other',
      mimeType: 'application/octet-stream',
      channel: 0,
    });
  });

  it('refuses files that are too large or too many', async () => {
    expect(await client.sendAlarmInfo(alarmNo, { a: 1_000_001 })).toBe(1);
    expect(await client.sendAlarmInfo(alarmNo, { a: 800_000, b: 800_000 })).toBe(0);
    expect(await client.sendFileInfo('b', 800_000)).toBe(1);
    const other = await harness.connect(phone);
    expect(await other.sendAlarmInfo(alarmNo, { c: 1, d: 1, e: 1, f: 1 })).toBe(0);
    expect([await other.sendFileInfo('e', 1), await other.sendFileInfo('f', 1)]).toEqual([0, 1]);
  });

  it('closes a connection without an accepted list or without data in time', async () => {
    await start({ loginTimeoutMs: 100 });
    client.socket.write(Buffer.from('7e7e7e7e', 'hex'));
    await client.waitForClose();
    await start({ idleTimeoutMs: 1_000 });
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    await client.waitForClose();
    await waitFor(async () => (await harness.metric('closed_total', { reason: 'idle' })) === 1);
  });

  it('counts the connections of a load balancer by the terminal of the PROXY protocol header', async () => {
    await start({ maxConnectionsPerAddress: 1, proxyNetworks: ['127.0.0.0/8'] });
    const dial = async (address: string): Promise<AttachmentClient> => {
      const proxied = await harness.connect(phone);
      proxied.socket.write(`PROXY TCP4 ${address} 10.0.0.1 50000 7077\r\n`);
      return proxied;
    };
    client = await dial('203.0.113.9');
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    const other = await dial('203.0.113.10');
    expect(await other.sendAlarmInfo(alarmNo, files())).toBe(0);
    const second = await dial('203.0.113.9');
    await waitFor(() => second.isClosed);
    expect([client.isClosed, other.isClosed]).toEqual([false, false]);
  });

  it('limits the connections of one address', async () => {
    await start({ maxConnectionsPerAddress: 1 });
    const second = await harness.connect(phone);
    await second.waitForClose();
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
  });

  it('ends a connection that repeats 0x1212 without sending data', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    for (let round = 0; round < 21; round += 1)
      expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 1 });
    await client.waitForClose();
    await waitFor(async () => (await harness.metric('closed_total', { reason: 'fruitless' })) === 1);
  });

  it('serves a connection while another sends garbage', async () => {
    const noisy = await harness.connect(phone);
    noisy.socket.write(clipBytes(300_000, 9));
    noisy.socket.write(Buffer.concat([Buffer.from('30316364', 'hex'), Buffer.alloc(58, 0xff), clipBytes(50_000, 10)]));
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(0);
    send(a, picture, 7_777);
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    // The garbage started a frame without an end. A flag byte resynchronizes the splitter.
    noisy.socket.write(Buffer.from('7e7e', 'hex'));
    expect(await noisy.sendAlarmInfo(alarmNo, files())).toBe(0);
  });
});

describe('AttachmentServer, after a reconnect', () => {
  it('resumes a file at the offset where the connection was lost', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100_000));
    // Cut in the middle of a packet.
    client.socket.write(encodeAttachmentPacket(a, 100_000, picture.subarray(100_000, 160_000)).subarray(0, 30_062));
    await waitFor(async () => (await harness.metric('bytes_total')) === 130_000);
    client.socket.resetAndDestroy();
    client = await harness.connect(phone);
    expect(await client.sendAlarmInfo(alarmNo, files(), { infoType: 1 })).toBe(0);
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({
      retransmit: [{ offset: 130_000, length: 70_004 }],
    });
    client.sendData(a, 130_000, picture.subarray(130_000));
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(picture)]);
    expect(harness.opened).toBe(1);
  });

  it('accepts data of one file from two connections, one of them half open', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100_000));
    const second = await harness.connect(phone);
    expect(await second.sendAlarmInfo(alarmNo, files())).toBe(0);
    second.sendData(a, 50_000, picture.subarray(50_000));
    await waitFor(async () => (await harness.metric('bytes_total')) > picture.length);
    expect(await second.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect(storedHashes()).toEqual([sha256(picture)]);
  });

  it('confirms a file that another pod has stored', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100));
    await waitFor(async () => (await harness.listFiles()).length === 1);
    const expectation = harness.expected.get(alarmNo);
    if (expectation === undefined) throw new Error('not expected');
    harness.expected.set(alarmNo, { ...expectation, files: [{ name: a, fileId: 'f'.repeat(24) }] });
    client.socket.destroy();
    client = await harness.connect(phone);
    expect(await client.sendAlarmInfo(alarmNo, files(), { infoType: 1 })).toBe(0);
    expect(await client.sendFileInfo(a, picture.length)).toBe(0);
    send(a, picture);
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect([harness.stored, await harness.listFiles()]).toEqual([[], []]);
  });

  it('discards an incomplete file after the resume time', async () => {
    await start({}, { resumeMs: 0 });
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100));
    await waitFor(async () => (await harness.listFiles()).length === 1);
    await harness.alarms.sweep();
    expect(await harness.listFiles()).toHaveLength(1);
    client.socket.destroy();
    await waitFor(async () => {
      await harness.alarms.sweep();
      return (await harness.listFiles()).length === 0;
    });
    expect(harness.alarms.openFiles).toBe(0);
  });

  it('discards files of disconnected terminals when too many are open', async () => {
    await start({}, { maxOpenFiles: 1 });
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100));
    await waitFor(async () => (await harness.listFiles()).length === 1);
    const other = harness.expect(phone);
    const second = await harness.connect(phone);
    await second.sendAlarmInfo(other, { x: 3 });
    second.sendData('x', 0, Buffer.from('abc'));
    // The first connection is still open, so the data is requested again.
    expect(await second.sendFileComplete('x', 3)).toMatchObject({ result: 1 });
    client.socket.destroy();
    await waitFor(async () => (await harness.metric('connections')) === 1);
    second.sendData('x', 0, Buffer.from('abc'));
    expect(await second.sendFileComplete('x', 3)).toMatchObject({ result: 0 });
    expect(harness.alarms.openFiles).toBe(0);
  });
});

describe('AttachmentServer, during outages and stops', () => {
  it('ends the connection without a response when a file cannot be stored, and receives all of it on the next', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    send(a, picture);
    harness.storeError = new Error('the disk is full');
    expect(await client.sendFileComplete(a, picture.length)).toBeNull();
    await client.waitForClose();
    client = await harness.connect(phone);
    await client.sendAlarmInfo(alarmNo, files());
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({
      retransmit: [{ offset: 0, length: picture.length }],
    });
    send(a, picture);
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    expect([storedHashes(), harness.alarms.openFiles]).toEqual([[sha256(picture)], 0]);
  });

  it.each([
    ['database', () => Object.assign(harness, { findError: new Error('away') })],
    ['disk', () => Object.assign(harness, { storageError: 'full' })],
  ])('closes the connection without a response when the %s is unavailable', async (_name, breaks) => {
    breaks();
    expect(await client.sendAlarmInfo(alarmNo, files())).toBe(-1);
    expect(client.received).toEqual([]);
  });

  it('waits only for files in transfer at a stop', async () => {
    const idle = await harness.connect(phone);
    await client.sendAlarmInfo(alarmNo, { [a]: picture.length });
    client.sendData(a, 0, picture.subarray(0, 100_000));
    const drained = harness.server.drain(60_000);
    await idle.waitForClose();
    client.sendData(a, 100_000, picture.subarray(100_000));
    expect(await client.sendFileComplete(a, picture.length)).toMatchObject({ result: 0 });
    await client.waitForClose();
    await drained;
    expect(storedHashes()).toEqual([sha256(picture)]);
  });

  it('leaves no file on disk when a stop interrupts a transfer', async () => {
    await client.sendAlarmInfo(alarmNo, files());
    client.sendData(a, 0, picture.subarray(0, 100_000));
    await waitFor(async () => (await harness.listFiles()).length === 1);
    await harness.server.drain(10);
    await harness.server.stop();
    await harness.alarms.stop();
    expect([await harness.listFiles(), storedHashes()]).toEqual([[], []]);
  });
});
