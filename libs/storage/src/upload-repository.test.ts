import { randomBytes } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Database, openDatabase } from './mongo.ts';
import { type Clip, clipKey, createReservation, type UploadRecord, uploadUserName } from './upload-record.ts';
import { UploadRepository } from './upload-repository.ts';

// A real server on a machine that may be busy.
jest.setTimeout(60_000);

const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

let database: Database;
let records: UploadRepository;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/uploads_${hex(6)}`;
  database = openDatabase(url.href, { appName: 'uploads-test' });
  records = new UploadRepository(database);
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

let lastImei = 100_000_000_000;
const newImei = (): string => {
  lastImei += 1;
  return String(lastImei);
};

const createClip = (imei: string, more: Partial<Clip> = {}): Clip => ({
  imei,
  channel: 1,
  startMs: 1_000,
  endMs: 2_000,
  mediaType: 3,
  streamType: 0,
  storageType: 0,
  alarmFlags: '0',
  ...more,
});

const createRecord = (clip: Clip, more: Partial<UploadRecord> = {}): UploadRecord => ({
  ...createReservation(clip, {
    shownImei: clip.imei,
    askedImei: clip.imei,
    cameraUtcOffset: '+08:00',
    reservedUntilMs: Date.now() + 60_000,
    mobileNetwork: true,
  }),
  ...more,
});

/** Stores a record with a unique clip, unless the test specifies one. */
async function stored(more: Partial<UploadRecord> = {}, clip = createClip(newImei())): Promise<UploadRecord> {
  const record = createRecord(clip, more);
  expect(await records.reserve(record)).toBe(true);
  return { ...record, number: (await records.find(record._id))?.number ?? 0 };
}

const inAMinute = (): number => Date.now() + 60_000;

describe('clipKey', () => {
  it('differs in every part of a clip', () => {
    const clip = createClip('1');
    const others: Partial<Clip>[] = [
      { imei: '2' },
      { channel: 2 },
      { startMs: 1 },
      { endMs: 3_000 },
      { mediaType: 0 },
      { streamType: 1 },
      { storageType: 1 },
      { alarmFlags: '18446744073709551615' },
    ];
    const keys = [clip, ...others.map((other) => ({ ...clip, ...other }))].map((one) => clipKey(one));
    expect(new Set(keys).size).toBe(keys.length);
    expect(clipKey({ ...clip })).toBe(clipKey(clip));
  });

  it('differs by account', () => {
    const clip = createClip('1');
    expect(new Set([clipKey(clip), clipKey(clip, 1), clipKey(clip, 2)]).size).toBe(3);
    expect(clipKey(clip, null)).toBe(clipKey(clip));
    expect(createRecord(clip, {}).clipKey).toBe(clipKey(clip));
  });
});

describe('uploadUserName', () => {
  it('is letters and digits', () => expect(uploadUserName('00ff')).toBe('u00ff'));
});

describe('a reservation', () => {
  it('is granted to one of 50 concurrent requests over two connections', async () => {
    const other = openDatabase(`${testEnv('MONGODB_URL').replace(/\/[^/]*$/, '')}/${database.db.databaseName}`, {
      appName: 'uploads-test-2',
    });
    try {
      const both = [records, new UploadRepository(other)];
      const clip = createClip(newImei());
      const requestedStatuses = Array.from({ length: 50 }, () => createRecord(clip));
      const won = await Promise.all(requestedStatuses.map((record, index) => both[index % 2]?.reserve(record)));
      expect(won.filter(Boolean)).toHaveLength(1);
      expect(await records.findByClip(clipKey(clip))).toEqual({
        ...requestedStatuses[won.indexOf(true)],
        number: expect.any(Number),
      });
    } finally {
      await other.close();
    }
  });

  it('is found by its id and its clip, and is not listed', async () => {
    const record = await stored();
    expect(await records.find(record._id)).toEqual(record);
    expect(await records.findByClip(record.clipKey)).toEqual(record);
    expect(await records.listByDevice(record.clip.imei)).toEqual([]);
    expect(await records.find(hex(12))).toBeNull();
  });

  it('frees its clip when it is deleted, once', async () => {
    const record = await stored();
    expect(await records.remove(record._id, ['completed', 'failed', 'cancelled'])).toBe(false);
    const removed = await Promise.all([1, 2, 3].map(() => records.remove(record._id, ['reserved'])));
    expect(removed.filter(Boolean)).toHaveLength(1);
    await stored({}, record.clip);
  });
});

describe('lists', () => {
  it('lists uploads of a device, or one channel, in every status except reserved', async () => {
    const imei = newImei();
    const second = createClip(imei, { channel: 2 });
    const one = await stored({ status: 'failed' }, createClip(imei));
    const two = await stored({ status: 'uploading', createdAtMs: Date.now() + 10 }, second);
    await stored({}, createClip(imei, { startMs: 5 }));
    await stored({ status: 'completed' });
    expect((await records.listByDevice(imei)).map(({ _id }) => _id)).toEqual([two._id, one._id]);
    expect((await records.listByDevice(imei, 2)).map(({ _id }) => _id)).toEqual([two._id]);
    expect(await records.listByDevice(imei, 3)).toEqual([]);
  });

  it('lists by status from the oldest change up to the limit', async () => {
    const late = await stored({ status: 'paused', changedAtMs: 2 });
    const early = await stored({ status: 'paused', changedAtMs: 1 });
    expect((await records.listByStatus(['paused'], 2)).map(({ _id }) => _id)).toEqual([early._id, late._id]);
    expect(await records.listByStatus(['paused'], 1)).toHaveLength(1);
  });
});

describe('a change of status', () => {
  it('is won by one of many concurrent callers', async () => {
    const { _id } = await stored({ status: 'uploading' });
    const targets = ['paused', 'cancelled', 'completed', 'failed'] as const;
    const changed = await Promise.all(
      Array.from({ length: 40 }, (_, index) => records.transition(_id, ['uploading'], targets[index % 4] ?? 'failed')),
    );
    const winners = changed.filter((record) => record !== null);
    expect(winners).toHaveLength(1);
    expect((await records.find(_id))?.status).toBe(winners[0]?.status);
  });

  it('returns the changed record with the set fields and the time of the change', async () => {
    const { _id } = await stored({ changedAtMs: 1 });
    const after = await records.transition(_id, ['reserved'], 'uploading', { commandSerialNo: 7 });
    expect(after).toMatchObject({ _id, status: 'uploading', commandSerialNo: 7 });
    expect(after?.changedAtMs).toBeGreaterThan(1);
    expect(await records.find(_id)).toEqual(after);
  });

  it('is rejected if another status is expected, like fields', async () => {
    const record = await stored({ status: 'cancelled' });
    expect(await records.transition(record._id, ['uploading', 'paused'], 'completed')).toBeNull();
    expect(await records.set(record._id, ['uploading', 'paused'], { filesize: 9 })).toBeNull();
    expect(await records.find(record._id)).toEqual(record);
    expect(await records.set(record._id, ['cancelled'], { filesize: 9 })).toMatchObject({ filesize: 9 });
  });
});

describe('the right to command the camera', () => {
  it('belongs to one of many callers until it is returned', async () => {
    const { _id } = await stored({ status: 'uploading' });
    const tokens = Array.from({ length: 20 }, () => hex(8));
    const started = await Promise.all(
      tokens.map((token) => records.beginControl(_id, 'uploading', token, inAMinute())),
    );
    expect(started.filter((record) => record !== null)).toHaveLength(1);
    const winner = tokens[started.findIndex((record) => record !== null)] ?? '';
    expect((await records.find(_id))?.control?.token).toBe(winner);
    await records.endControl(_id, 'somebody else');
    expect(await records.beginControl(_id, 'uploading', 'next', inAMinute())).toBeNull();
    await records.endControl(_id, winner);
    expect(await records.beginControl(_id, 'uploading', 'next', inAMinute())).not.toBeNull();
  });

  it('is not granted in another status, and expires', async () => {
    const { _id } = await stored({ status: 'paused' });
    expect(await records.beginControl(_id, 'uploading', 'a', inAMinute())).toBeNull();
    expect(await records.beginControl(_id, 'paused', 'a', Date.now() - 1)).not.toBeNull();
    expect(await records.beginControl(_id, 'paused', 'b', inAMinute())).not.toBeNull();
  });
});

describe('a camera', () => {
  it('is locked by one of 50 concurrent uploads', async () => {
    const imei = newImei();
    const uploads = await Promise.all(
      Array.from({ length: 50 }, (_, channel) => stored({}, createClip(imei, { channel }))),
    );
    const taken = await Promise.all(uploads.map(({ _id }) => records.lockCamera(imei, _id, inAMinute())));
    expect(taken.filter(Boolean)).toHaveLength(1);
    const holder = uploads[taken.indexOf(true)]?._id ?? '';
    // Its holder may lock it again; another upload unlocks nothing.
    expect(await records.lockCamera(imei, holder, inAMinute())).toBe(true);
    const next = uploads.find(({ _id }) => _id !== holder)?._id ?? '';
    await records.unlockCamera(imei, next);
    expect(await records.lockCamera(imei, next, inAMinute())).toBe(false);
    await records.unlockCamera(imei, holder);
    expect(await records.lockCamera(imei, next, inAMinute())).toBe(true);
  });

  const past = (): number => Date.now() - 1;
  const control = (untilMs: number): Partial<UploadRecord> => ({ status: 'paused', control: { token: 'x', untilMs } });
  it.each<[string, Partial<UploadRecord>, () => number, boolean]>([
    ['is reserved and in time', {}, inAMinute, false],
    ['is reserved and late', {}, past, true],
    ['is uploading, long after its reservation', { status: 'uploading' }, past, false],
    ['is being resumed', control(Date.now() + 600_000), inAMinute, false],
    ['was being resumed by a process that died', control(1), inAMinute, true],
    ['was paused by a process that died', { status: 'paused' }, inAMinute, true],
    ['has completed', { status: 'completed' }, inAMinute, true],
    ['has failed', { status: 'failed' }, inAMinute, true],
    ['was cancelled', { status: 'cancelled' }, inAMinute, true],
  ])('whose holder %s', async (_what, more, until, isFree) => {
    const imei = newImei();
    const holder = await stored(more, createClip(imei));
    expect(await records.lockCamera(imei, holder._id, until())).toBe(true);
    const next = await stored({}, createClip(imei, { channel: 2 }));
    expect(await records.lockCamera(imei, next._id, inAMinute())).toBe(isFree);
  });

  it('is free for one of many after its holder ended', async () => {
    const imei = newImei();
    expect(await records.lockCamera(imei, hex(12), inAMinute())).toBe(true);
    const uploads = await Promise.all(
      Array.from({ length: 20 }, (_, channel) => stored({}, createClip(imei, { channel }))),
    );
    const taken = await Promise.all(uploads.map(({ _id }) => records.lockCamera(imei, _id, inAMinute())));
    expect(taken.filter(Boolean)).toHaveLength(1);
  });
});

describe('a conclusion from the files', () => {
  const whole = { path: 'a.mp4', bytes: 10, state: 'whole', startedAtMs: 5 } as const;
  const more: Partial<UploadRecord> = { status: 'uploading', files: [whole], filesize: 10, lastByteAtMs: 7 };

  it.each<[string, Partial<UploadRecord>]>([
    ['a file is being received again', { files: [{ ...whole, state: 'receiving' }] }],
    ['another file exists', { files: [whole, { ...whole, path: 'b.mp4' }] }],
    ['no file exists any more', { files: [] }],
    ['bytes have arrived', { lastByteAtMs: 8 }],
    ['it was paused', { status: 'paused' }],
    ['it was paused and resumed', { changedAtMs: 9 }],
  ])('is rejected if something happened since: %s', async (_what, fields) => {
    const seen = await stored(more);
    const other = await stored(more);
    expect(await records.set(seen._id, ['uploading'], fields)).not.toBeNull();
    expect(await records.finalize(seen, { filesize: 1 }, 'completed')).toBeNull();
    expect(await records.find(seen._id)).toMatchObject({ ...more, ...fields });
    expect(await records.finalize(other, { filesize: 1 }, 'completed')).toMatchObject({
      status: 'completed',
      filesize: 1,
      files: [whole],
    });
  });

  it('may leave the status and the time of its change', async () => {
    const seen = await stored({ status: 'uploading' });
    expect(await records.finalize(seen, { silentMs: 5 })).toEqual({ ...seen, silentMs: 5, revision: 1 });
  });

  it('is limited to the pod that stores the files', async () => {
    const podId = hex(4);
    const mine = await stored({ status: 'uploading', server: { podId, httpUrl: 'http://x' } });
    await stored({ status: 'completed', server: { podId, httpUrl: 'http://x' } });
    await stored({ status: 'uploading', server: { podId: hex(4), httpUrl: 'http://x' } });
    expect(await records.listByPod(podId, ['uploading', 'paused'])).toEqual([mine]);
  });
});

describe('locks without a purpose', () => {
  it('are deleted, and no others', async () => {
    const past = Date.now() - 1;
    const idle = await stored({ status: 'failed' }, createClip(newImei()));
    const busy = await stored({ status: 'uploading' }, createClip(newImei()));
    const waiting = await stored({}, createClip(newImei()));
    await records.lockCamera(idle.clip.imei, idle._id, past);
    await records.lockCamera(busy.clip.imei, busy._id, past);
    await records.lockCamera(waiting.clip.imei, waiting._id, Date.now() + 60_000);
    expect(await records.unlockIdleCameras()).toBeGreaterThanOrEqual(1);
    const left = await database.collection('upload_locks').find().toArray();
    const ids = left.map((lock) => String(lock['uploadId']));
    expect([idle, busy, waiting].map(({ _id }) => ids.includes(_id))).toEqual([false, true, true]);
  });
});

describe('the indexes', () => {
  it('may be created by several processes concurrently, and may exist', async () => {
    await Promise.all([1, 2, 3].map(() => new UploadRepository(database).ensureIndexes()));
    await new UploadRepository(database).ensureIndexes();
    const indexes = await database.collection('uploads').listIndexes().toArray();
    const made = indexes.map(({ name, unique }) => [name, unique ?? false] as const);
    expect(Object.fromEntries(made)).toEqual({
      _id_: false,
      accountId_1__id_1: false,
      clipKey_1: true,
      'clip.imei_1_createdAtMs_-1': false,
      status_1_changedAtMs_1: false,
      'accountId_1_number_-1_vehicleId_1_status_1_createdAtMs_1': false,
      'vehicleId_1_number_-1_status_1_createdAtMs_1': false,
    });
  });

  it('are requested again after a failure', async () => {
    const closed = openDatabase('mongodb://127.0.0.1:1/none', { appName: 'uploads-test' });
    const late = new UploadRepository(closed);
    await expect(late.ensureIndexes()).rejects.toThrow(/./);
    await expect(late.ensureIndexes()).rejects.toThrow(/./);
    await closed.close();
  });
});
