import { encodeAttachmentPacket, encodeFrame } from '@fleet/jt808';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { AttachmentBench } from '../testing/attachment-bench.ts';
import type { AttachmentClient } from '../testing/attachment-client.ts';
import { clipBytes, sha256 } from '../testing/world.ts';

// Real sockets and files on a machine that may be busy.
jest.setTimeout(60_000);

const phone = '013800138077';
const picture = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), clipBytes(200_000, 1)]);
const film = Buffer.concat([Buffer.from('0000001866747970', 'hex'), clipBytes(300_000, 2)]);
const jpg = (alarmNo: string): string => `00_65_6502_0_${alarmNo}.jpg`;
const mp4 = (alarmNo: string): string => `02_1_6502_1_${alarmNo}.mp4`;

let bench: AttachmentBench;
let client: AttachmentClient;
let alarmNo: string;
let a: string;
let b: string;

async function start(...options: ConstructorParameters<typeof AttachmentBench>): Promise<void> {
  await bench?.stop();
  bench = new AttachmentBench(...options);
  await bench.server.start();
  alarmNo = bench.expect(phone);
  [a, b] = [jpg(alarmNo), mp4(alarmNo)];
  client = await bench.connect(phone);
}

beforeEach(() => start());
afterEach(() => bench.stop());

const files = (): Record<string, number> => ({ [a]: picture.length, [b]: film.length });
const kept = (): string[] => bench.kept.map(({ content }) => sha256(content));

/** Sends a whole file in chunks. */
function send(name: string, bytes: Buffer, chunkBytes = 65_536): void {
  for (let at = 0; at < bytes.length; at += chunkBytes) client.data(name, at, bytes.subarray(at, at + chunkBytes));
}

describe('the attachment server', () => {
  it('takes the files of an alarm, and says so once they are kept', async () => {
    expect(await client.list(alarmNo, files())).toBe(0);
    for (const [name, bytes, type] of [
      [a, picture, 0],
      [b, film, 2],
    ] as const) {
      expect(await client.info(name, bytes.length, type)).toBe(0);
      send(name, bytes);
      expect(await client.done(name, bytes.length, type)).toEqual({ name, type, result: 0, retransmit: [] });
      expect(bench.kept.at(-1)?.content.equals(bytes)).toBe(true);
    }
    const shared = {
      imei: '13800138077',
      source: 'alarm',
      multimediaId: null,
      place: null,
      takenAt: '2026-11-22T10:00:00',
    };
    expect(bench.kept.map(({ about }) => about)).toMatchObject([
      { ...shared, kind: 'image', mimeType: 'image/jpeg', channel: 65, fileIdSeed: `attachment/${alarmNo}/${a}` },
      { ...shared, kind: 'video', mimeType: 'video/mp4', channel: 1 },
    ]);
    expect(bench.kept[0]?.about.attachment).toEqual({
      alarmNo,
      accountId: 1,
      vehicleId: 2,
      notificationId: 3,
      name: a,
    });
    expect(bench.expected.get(alarmNo)?.files.map(({ name }) => name)).toEqual([a, b]);
    expect([await bench.onDisk(), bench.alarms.openFiles]).toEqual([[], 0]);
    expect(await bench.metric('bytes_total')).toBe(picture.length + film.length);
  });

  it('answers in the header and the digits of the terminal, and in its own frames', async () => {
    const long = await bench.connect('00000000013800138077', '2019');
    expect(await long.list(alarmNo, files())).toBe(0);
    expect(long.answers.map(({ phone: number }) => number)).toEqual(['00000000013800138077']);
  });

  it('takes a list in parts', async () => {
    expect(await client.list(alarmNo, files(), { maxBodyBytes: 60 })).toBe(0);
    send(a, picture);
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
  });

  it('puts data in their place, whatever their order, and asks for what is missing', async () => {
    await client.list(alarmNo, files());
    client.data(a, 100_000, picture.subarray(100_000));
    client.data(a, 0, picture.subarray(0, 40_000));
    client.data(a, 30_000, picture.subarray(30_000, 50_000));
    expect(await client.done(a, picture.length)).toMatchObject({
      result: 1,
      retransmit: [{ offset: 50_000, length: 50_000 }],
    });
    client.data(a, 50_000, picture.subarray(50_000, 100_000));
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(picture)]);
  });

  it('asks for 255 stretches at most, and for the others in the next round', async () => {
    const bytes = clipBytes(1_000, 5);
    await client.list(alarmNo, { [a]: 1_000 });
    for (let at = 1; at < 1_000; at += 2) client.data(a, at, bytes.subarray(at, at + 1));
    const first = await client.done(a, 1_000);
    expect(first?.retransmit).toHaveLength(255);
    for (const { offset, length } of first?.retransmit ?? [])
      client.data(a, offset, bytes.subarray(offset, offset + length));
    const second = await client.done(a, 1_000);
    expect(second?.retransmit.map(({ offset }) => offset)).toEqual(Array.from({ length: 245 }, (_, i) => 510 + 2 * i));
    for (const { offset, length } of second?.retransmit ?? [])
      client.data(a, offset, bytes.subarray(offset, offset + length));
    expect(await client.done(a, 1_000)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(bytes)]);
  });

  it('writes nothing beyond the announced size', async () => {
    await client.list(alarmNo, { [a]: 100 });
    client.data(a, 90, clipBytes(50, 1));
    client.data(a, 4_000_000_000, clipBytes(50, 1));
    client.data(a, 0, picture.subarray(0, 90));
    expect(await client.done(a, 100)).toMatchObject({ result: 0 });
    expect(bench.kept[0]?.content).toHaveLength(100);
  });

  it('begins a file again that turns out to be shorter than what has come of it', async () => {
    await client.list(alarmNo, { [a]: 1_000 });
    client.data(a, 0, clipBytes(1_000, 1));
    expect(await client.done(a, 500)).toMatchObject({ result: 1, retransmit: [{ offset: 0, length: 500 }] });
    client.data(a, 0, clipBytes(500, 2));
    expect(await client.done(a, 500)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(clipBytes(500, 2))]);
  });

  it('takes files without 0x1211, those that no list names, empty ones, and cut names', async () => {
    await client.list(alarmNo, {});
    const long = `${'n'.repeat(60)}.jpg`;
    expect(await client.info(long, 10)).toBe(0);
    client.data(long, 0, clipBytes(10));
    expect(await client.done(long, 10)).toMatchObject({ name: long, result: 0 });
    expect(await client.done('empty.bin', 0, 4)).toMatchObject({ result: 0 });
    expect(await client.done('empty.bin', 0, 4)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(clipBytes(10)), sha256(Buffer.alloc(0))]);
    expect(bench.expected.get(alarmNo)?.files.map(({ name }) => name)).toEqual([long, 'empty.bin']);
    expect([await bench.onDisk(), bench.alarms.openFiles]).toEqual([[], 0]);
  });

  it('takes the files of each alarm where a terminal names them alike, one alarm after the other', async () => {
    const alike = '00_65_6502_0.jpg';
    const another = bench.expect(phone);
    for (const [no, bytes] of [
      [alarmNo, picture],
      [another, film],
    ] as const) {
      expect(await client.list(no, { [alike]: bytes.length })).toBe(0);
      expect(await client.info(alike, bytes.length)).toBe(0);
      send(alike, bytes);
      expect(await client.done(alike, bytes.length)).toMatchObject({ result: 0 });
      expect(await client.done(alike, bytes.length)).toMatchObject({ result: 0 });
    }
    expect(kept()).toEqual([sha256(picture), sha256(film)]);
    expect(bench.kept.map(({ about }) => about.attachment?.alarmNo)).toEqual([alarmNo, another]);
  });

  it('takes files that are named alike where a terminal lists all alarms first, by their sizes, and a cut name for what it means', async () => {
    const alike = `${'n'.repeat(60)}.jpg`;
    const another = bench.expect(phone);
    expect(await client.list(alarmNo, { [alike]: picture.length })).toBe(0);
    expect(await client.list(another, { [alike]: film.length })).toBe(0);
    for (const bytes of [picture, film]) {
      expect(await client.info(alike, bytes.length)).toBe(0);
      send(alike, bytes);
      expect(await client.done(alike, bytes.length)).toMatchObject({ result: 0 });
    }
    expect(kept()).toEqual([sha256(picture), sha256(film)]);
    expect(bench.kept.map(({ about }) => about.attachment?.alarmNo)).toEqual([alarmNo, another]);
  });

  it('answers a repeated 0x1212 with success, and keeps the file once', async () => {
    await client.list(alarmNo, files());
    send(a, picture);
    const first = client.done(a, picture.length);
    const second = client.done(a, picture.length);
    expect([await first, await second]).toMatchObject([{ result: 0 }, { result: 0 }]);
    expect(bench.kept).toHaveLength(1);
  });

  it('says of messages that it does not know that it does not, and bears heartbeats', async () => {
    expect(await client.result(0x0002, client.rawFrames(0x0002, Buffer.alloc(0)))).toBe(0);
    expect(await client.result(0x0200, client.rawFrames(0x0200, Buffer.alloc(28)))).toBe(3);
    expect(await client.result(0x1210, client.rawFrames(0x1210, Buffer.alloc(5)))).toBe(2);
    expect(await client.result(0x1211, client.rawFrames(0x1211, Buffer.from([9])))).toBe(2);
    client.socket.write(client.rawFrames(0x0001, Buffer.alloc(5)));
    expect(await client.list(alarmNo, files())).toBe(0);
    expect(client.answers).toHaveLength(5);
  });
});

describe('whom the attachment server listens to', () => {
  it.each([
    ['a number that nobody expects', async () => client.list('f'.repeat(32), files())],
    ['a number that is none', async () => client.list('$ne', files())],
    ['an alarm that is over', async () => client.list(bench.expect(phone, { expiresAtMs: Date.now() - 1 }), files())],
    ['an alarm of another terminal', async () => client.list(bench.expect('013800138099'), files())],
  ])('not to %s: the third time ends the connection', async (_name, list) => {
    expect(await list()).toBe(1);
    expect(await list()).toBe(1);
    expect(await list()).toBe(1);
    await client.closed();
    expect(bench.opened).toBe(0);
    await until(async () => (await bench.metric('closed_total', { reason: 'refused' })) === 1);
  });

  it('not to data and files before a list, nor to frames of another terminal behind it', async () => {
    client.data(a, 0, picture);
    expect(await client.info(a, picture.length)).toBe(1);
    expect(await client.list(alarmNo, files())).toBe(0);
    const other = encodeFrame({
      messageId: 0x1211,
      phone: '013800138099',
      serial: client.lastSerial,
      body: Buffer.from('0161000000000a', 'hex'),
    });
    expect(await client.result(0x1211, other)).toBe(1);
    expect(bench.opened).toBe(0);
    expect(await bench.metric('dropped_total', { kind: 'unknownFile' })).toBe(1);
  });

  it('not to names that look like paths: no name reaches the disk', async () => {
    const name = '../../../etc/passwd';
    await client.list(alarmNo, { [name]: 4 });
    client.data(name, 0, Buffer.from('root'));
    await until(async () => (await bench.onDisk()).length === 1);
    expect(await bench.onDisk()).toEqual(['1']);
    expect(await client.done(name, 4, 3)).toMatchObject({ name, result: 0 });
    expect(bench.kept[0]?.about).toMatchObject({ kind: 'other', mimeType: 'application/octet-stream', channel: 0 });
  });

  it('not to files that are too large or too many', async () => {
    expect(await client.list(alarmNo, { a: 1_000_001 })).toBe(1);
    expect(await client.list(alarmNo, { a: 800_000, b: 800_000 })).toBe(0);
    expect(await client.info('b', 800_000)).toBe(1);
    const other = await bench.connect(phone);
    expect(await other.list(alarmNo, { c: 1, d: 1, e: 1, f: 1 })).toBe(0);
    expect([await other.info('e', 1), await other.info('f', 1)]).toEqual([0, 1]);
  });

  it('not to who says nothing of use in time', async () => {
    await start({ loginLimitMs: 100 });
    client.socket.write(Buffer.from('7e7e7e7e', 'hex'));
    await client.closed();
    await start({ idleMs: 1_000 });
    expect(await client.list(alarmNo, files())).toBe(0);
    await client.closed();
    await until(async () => (await bench.metric('closed_total', { reason: 'idle' })) === 1);
  });

  it('not to more connections of one address than it may', async () => {
    await start({ connectionsPerAddress: 1 });
    const second = await bench.connect(phone);
    await second.closed();
    expect(await client.list(alarmNo, files())).toBe(0);
  });

  it('no longer to who calls a file done again and again and sends nothing of it', async () => {
    await client.list(alarmNo, files());
    for (let round = 0; round < 21; round += 1)
      expect(await client.done(a, picture.length)).toMatchObject({ result: 1 });
    await client.closed();
    await until(async () => (await bench.metric('closed_total', { reason: 'fruitless' })) === 1);
  });

  it('to everybody still, whatever garbage one of them sends', async () => {
    const noisy = await bench.connect(phone);
    noisy.socket.write(clipBytes(300_000, 9));
    noisy.socket.write(Buffer.concat([Buffer.from('30316364', 'hex'), Buffer.alloc(58, 0xff), clipBytes(50_000, 10)]));
    expect(await client.list(alarmNo, files())).toBe(0);
    send(a, picture, 7_777);
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    // In the middle of a frame that never ends a flag brings it back.
    noisy.socket.write(Buffer.from('7e7e', 'hex'));
    expect(await noisy.list(alarmNo, files())).toBe(0);
  });
});

describe('a terminal that comes back', () => {
  it('goes on where it was cut off', async () => {
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100_000));
    // In the middle of a packet.
    client.socket.write(encodeAttachmentPacket(a, 100_000, picture.subarray(100_000, 160_000)).subarray(0, 30_062));
    await until(async () => (await bench.metric('bytes_total')) === 130_000);
    client.socket.resetAndDestroy();
    client = await bench.connect(phone);
    expect(await client.list(alarmNo, files(), { infoType: 1 })).toBe(0);
    expect(await client.done(a, picture.length)).toMatchObject({ retransmit: [{ offset: 130_000, length: 70_004 }] });
    client.data(a, 130_000, picture.subarray(130_000));
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(picture)]);
    expect(bench.opened).toBe(1);
  });

  it('has the other connection beside it, where that one is half open', async () => {
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100_000));
    const second = await bench.connect(phone);
    expect(await second.list(alarmNo, files())).toBe(0);
    second.data(a, 50_000, picture.subarray(50_000));
    await until(async () => (await bench.metric('bytes_total')) > picture.length);
    expect(await second.done(a, picture.length)).toMatchObject({ result: 0 });
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    expect(kept()).toEqual([sha256(picture)]);
  });

  it('is told that a file is there which another pod has kept', async () => {
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100));
    await until(async () => (await bench.onDisk()).length === 1);
    const expectation = bench.expected.get(alarmNo);
    if (expectation === undefined) throw new Error('not expected');
    bench.expected.set(alarmNo, { ...expectation, files: [{ name: a, fileId: 'f'.repeat(24) }] });
    client.socket.destroy();
    client = await bench.connect(phone);
    expect(await client.list(alarmNo, files(), { infoType: 1 })).toBe(0);
    expect(await client.info(a, picture.length)).toBe(0);
    send(a, picture);
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    expect([bench.kept, await bench.onDisk()]).toEqual([[], []]);
  });

  it('is not waited for longer than it may take', async () => {
    await start({}, { resumeMs: 0 });
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100));
    await until(async () => (await bench.onDisk()).length === 1);
    await bench.alarms.sweep();
    expect(await bench.onDisk()).toHaveLength(1);
    client.socket.destroy();
    await until(async () => {
      await bench.alarms.sweep();
      return (await bench.onDisk()).length === 0;
    });
    expect(bench.alarms.openFiles).toBe(0);
  });

  it('gives way to those that are there, when there are too many files', async () => {
    await start({}, { maxOpenFiles: 1 });
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100));
    await until(async () => (await bench.onDisk()).length === 1);
    const other = bench.expect(phone);
    const second = await bench.connect(phone);
    await second.list(other, { x: 3 });
    second.data('x', 0, Buffer.from('abc'));
    // The first one is there: what comes now is asked for again.
    expect(await second.done('x', 3)).toMatchObject({ result: 1 });
    client.socket.destroy();
    await until(async () => (await bench.metric('connections')) === 1);
    second.data('x', 0, Buffer.from('abc'));
    expect(await second.done('x', 3)).toMatchObject({ result: 0 });
    expect(bench.alarms.openFiles).toBe(0);
  });
});

describe('when something is away', () => {
  it('ends the connection without an answer when a file can not be kept, and takes it whole the next time', async () => {
    await client.list(alarmNo, files());
    send(a, picture);
    bench.keepFails = new Error('the disk is full');
    expect(await client.done(a, picture.length)).toBeNull();
    await client.closed();
    client = await bench.connect(phone);
    await client.list(alarmNo, files());
    expect(await client.done(a, picture.length)).toMatchObject({ retransmit: [{ offset: 0, length: picture.length }] });
    send(a, picture);
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    expect([kept(), bench.alarms.openFiles]).toEqual([[sha256(picture)], 0]);
  });

  it.each([
    ['database', () => Object.assign(bench, { findFails: new Error('away') })],
    ['disk', () => Object.assign(bench, { obstacle: 'full' })],
  ])('neither accepts nor refuses without the %s', async (_name, breaks) => {
    breaks();
    expect(await client.list(alarmNo, files())).toBe(-1);
    expect(client.answers).toEqual([]);
  });

  it('waits at a stop for files under way, and for nobody else', async () => {
    const idle = await bench.connect(phone);
    await client.list(alarmNo, { [a]: picture.length });
    client.data(a, 0, picture.subarray(0, 100_000));
    const drained = bench.server.drain(60_000);
    await idle.closed();
    client.data(a, 100_000, picture.subarray(100_000));
    expect(await client.done(a, picture.length)).toMatchObject({ result: 0 });
    await client.closed();
    await drained;
    expect(kept()).toEqual([sha256(picture)]);
  });

  it('leaves nothing on the disk when a stop cuts it off', async () => {
    await client.list(alarmNo, files());
    client.data(a, 0, picture.subarray(0, 100_000));
    await until(async () => (await bench.onDisk()).length === 1);
    await bench.server.drain(10);
    await bench.server.stop();
    await bench.alarms.stop();
    expect([await bench.onDisk(), kept()]).toEqual([[], []]);
  });
});
