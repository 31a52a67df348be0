import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { ClipDirectory } from '../store/clip-directory.ts';
import { MediaDirectory } from '../store/media-directory.ts';
import { aboutOf, jpeg, MediaBroker, MediaWorld, newImei } from '../testing/media-world.ts';
import { IncomingFile, NoSpaceError } from './media-files.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let broker: MediaBroker;
let world: MediaWorld;
let imei: string;
beforeAll(async () => {
  broker = await MediaBroker.start();
});
afterAll(() => broker.stop());
beforeEach(async () => {
  imei = newImei();
  world = await MediaWorld.open(broker);
});
afterEach(() => world.close());

const notes = () => world.files('.untold');
const incoming = () => world.files('.incoming');
/** The service is killed and started again: nothing is left but its volume. */
async function restart(): Promise<void> {
  await world.end();
  world = await MediaWorld.open(broker, {}, world);
}

describe('a file of a terminal', () => {
  it('is kept under its id, told of once, and leaves nothing else', async () => {
    const content = jpeg();
    const stored = await world.keep(imei, content);
    expect(stored).toEqual({
      ...aboutOf(imei),
      fileIdSeed: undefined,
      fileId: expect.stringMatching(/^[0-9a-f]{24}$/),
      server: world.pod,
      sizeBytes: content.length,
    });
    expect((await readFile(join(world.dir, '.media', imei, stored.fileId))).equals(content)).toBe(true);
    expect(await broker.told(imei)).toEqual([stored]);
    expect([await notes(), await incoming()]).toEqual([[], []]);
  });

  it('may come in pieces, in any order, and is read while it comes', async () => {
    const content = jpeg(10_000);
    const file = await world.media.open(imei);
    await file.write(content.subarray(5_000), 5_000);
    expect([file.bytesWritten, file.sizeBytes]).toEqual([5_000, 10_000]);
    await file.write(content.subarray(0, 6_000), 0);
    expect([file.bytesWritten, file.sizeBytes]).toEqual([11_000, 10_000]);
    expect((await readFile(file.path)).equals(content)).toBe(true);
    const { fileId, sizeBytes } = await world.media.keep(file, aboutOf(imei));
    expect(sizeBytes).toBe(10_000);
    expect((await world.get({ imei, fileId })).body.equals(content)).toBe(true);
  });

  it('sent again is the same one and told once; other bytes, terminals or seeds are others', async () => {
    const content = jpeg();
    const [first, again] = await Promise.all([world.keep(imei, content), world.keep(imei, content)]);
    expect(again).toEqual(first);
    expect(await world.keep(imei, content)).toEqual(first);
    expect(await broker.told(imei)).toHaveLength(1);
    const otherImei = newImei();
    const others = [
      await world.keep(imei, jpeg()),
      await world.keep(imei, content, { fileIdSeed: 'another' }),
      await world.keep(otherImei, content),
    ];
    expect(new Set([first, ...others].map(({ fileId }) => fileId)).size).toBe(4);
    expect(await world.files(imei)).toHaveLength(3);
  });

  it('may have no byte at all', async () => {
    const stored = await world.keep(imei, Buffer.alloc(0));
    expect(stored.sizeBytes).toBe(0);
    expect(await broker.told(imei)).toEqual([stored]);
    const { status, headers, body } = await world.get({ imei, fileId: stored.fileId });
    expect([status, headers['content-length'], body]).toEqual([200, '0', Buffer.alloc(0)]);
  });

  it('that is discarded leaves nothing, and so does one that can not be kept', async () => {
    const file = await world.media.open(imei);
    await file.write(jpeg(), 0);
    await file.discard();
    await file.discard();
    await expect(world.keep(imei, jpeg(), { mimeType: '' })).rejects.toThrow('can not be told');
    await expect(world.keep(imei, jpeg(), { imei: newImei() })).rejects.toThrow('another terminal');
    await expect(world.keep('../escape', jpeg())).rejects.toThrow(RangeError);
    expect([await incoming(), await notes(), await world.files(imei)]).toEqual([[], [], []]);
    expect(await broker.told(imei)).toEqual([]);
  });

  it('is not begun where there is no room', async () => {
    await world.end();
    world = await MediaWorld.open(broker, { CLIPS_MIN_FREE_BYTES: '900000000000000' }, world);
    await expect(world.media.open(imei)).rejects.toThrow(NoSpaceError);
  });

  it('is removed by its pod, also a second time, and then neither read nor told of again', async () => {
    const stored = await world.keep(imei, jpeg());
    expect((await world.get(stored)).status).toBe(200);
    expect(await world.remove(world.pod, stored)).toEqual({});
    expect(await world.remove(world.pod, stored)).toEqual({});
    expect((await world.get(stored)).status).toBe(404);
    expect(await world.files(imei)).toEqual([]);
    await expect(world.remove('any', stored)).rejects.toMatchObject({ kind: 'noResponders' });
  });
});

describe('a file that is sent again', () => {
  it('is told of again, as its record may be gone', async () => {
    const content = jpeg();
    const first = await world.keep(imei, content);
    await world.remove(world.pod, first);
    const again = await world.keep(imei, content, { receivedAtMs: first.receivedAtMs + 1 });
    expect(again.fileId).toBe(first.fileId);
    expect(await broker.told(imei)).toEqual([first, again]);
  });
});

describe('what looks for leftovers', () => {
  it('leaves a file alone whose writing has ended, until it is discarded', async () => {
    const directory = new MediaDirectory(world.dir, 'another');
    const { path, release } = directory.incoming();
    const file = await IncomingFile.create(imei, path, release);
    await file.write(jpeg(), 0);
    await file.finish();
    await directory.removeLeftovers();
    expect(await incoming()).toHaveLength(1);
    await file.discard();
    await writeFile(path, 'x');
    await directory.removeLeftovers();
    expect(await incoming()).toEqual([]);
  });
});

describe('the removal of what was stored before a moment', () => {
  it('leaves a file alone that has come again since', async () => {
    const content = jpeg();
    const stored = await world.keep(imei, content);
    const path = join(world.dir, '.media', imei, stored.fileId);
    await utimes(path, new Date(10_000), new Date(10_000));
    expect(await world.remove(world.pod, stored, { storedBeforeMs: 10_000 })).toEqual({});
    expect((await world.get(stored)).status).toBe(200);
    const beforeMs = Date.now() - 1_000;
    await world.keep(imei, content);
    expect(await world.remove(world.pod, stored, { storedBeforeMs: beforeMs })).toEqual({});
    expect((await world.get(stored)).status).toBe(200);
    expect(await world.remove(world.pod, stored, { storedBeforeMs: Date.now() + 1_000 })).toEqual({});
    expect((await world.get(stored)).status).toBe(404);
  });
});

describe('a crash', () => {
  const place = (fileId: string) => join(world.dir, '.media', imei, fileId);
  const note = (fileId: string) => join(world.dir, '.media', '.untold', `${imei}.${fileId}`);

  /** What a file's keeping leaves on the volume: its bytes and its note. */
  async function kept(content: Buffer) {
    const stored = await world.keep(newImei(), content);
    const { server: _server, ...about } = stored;
    // The broker takes one message for each id.
    return { ...about, imei, fileId: randomBytes(12).toString('hex') };
  }

  it('between the file and the telling of it: it is told of after the start, once, and the same one again', async () => {
    const content = jpeg();
    const untold = await kept(content);
    await world.end();
    await mkdir(join(world.dir, '.media', imei));
    await writeFile(place(untold.fileId), content);
    await writeFile(note(untold.fileId), JSON.stringify(untold));
    await restart();
    await until(async () => (await notes()).length === 0);
    expect(await broker.told(imei)).toEqual([{ ...untold, server: world.pod }]);
  });

  it('behind the telling: what is told again is told once', async () => {
    const content = jpeg();
    const { server: _server, ...untold } = await world.keep(imei, content);
    await world.end();
    await writeFile(note(untold.fileId), JSON.stringify(untold));
    await restart();
    await until(async () => (await notes()).length === 0);
    expect(await world.keep(imei, content)).toMatchObject(untold);
    expect(await broker.told(imei)).toHaveLength(1);
  });

  it('behind files that can not be read: the others are told of', async () => {
    const content = jpeg();
    const untold = await kept(content);
    await world.end();
    await mkdir(join(world.dir, '.media', imei));
    const [bad, good] = [2, 6].map((count) =>
      Array.from({ length: count }, () => ({ ...untold, fileId: randomBytes(12).toString('hex') })),
    );
    for (const { fileId } of bad ?? []) await symlink(place(fileId), place(fileId));
    for (const { fileId } of good ?? []) await writeFile(place(fileId), content);
    for (const each of [...(bad ?? []), ...(good ?? [])]) await writeFile(note(each.fileId), JSON.stringify(each));
    await restart();
    await until(async () => (await notes()).length === 2);
    expect(await broker.told(imei)).toHaveLength(6);
  });

  it('before the file was at its place: nothing is told, and the note goes in time', async () => {
    const untold = await kept(jpeg());
    await writeFile(note(untold.fileId), JSON.stringify(untold));
    expect(await world.media.sweep({ isOver: () => false })).toBeNull();
    expect(await notes()).toHaveLength(1);
    await utimes(note(untold.fileId), new Date(0), new Date(0));
    await until(async () => (await notes()).length === 0);
    expect(await broker.told(imei)).toEqual([]);
  });

  it('while a file came: what was there of it goes at the start, and nothing of another pod on the volume', async () => {
    const file = await world.media.open(imei);
    await file.write(jpeg(), 0);
    const foreign = join(world.dir, '.media', '.incoming', 'another-pod.0123');
    await writeFile(foreign, 'x');
    expect(await incoming()).toHaveLength(2);
    await restart();
    expect(await incoming()).toEqual(['another-pod.0123']);
    await file.discard();
    await utimes(foreign, new Date(0), new Date(0));
    await restart();
    expect(await incoming()).toEqual([]);
  });

  it('that has left a note nobody can read: it goes, and the others are told of', async () => {
    await writeFile(note('0'.repeat(24)), 'no JSON');
    await writeFile(note('1'.repeat(24)), '{"imei":"1"}');
    await until(async () => (await notes()).length === 0);
    expect(await broker.told(imei)).toEqual([]);
  });
});

describe('without the broker', () => {
  it('a file is kept and read, and told of once the broker is back', async () => {
    await broker.server.kill();
    const content = jpeg();
    let stored;
    try {
      stored = await world.keep(imei, content);
      expect(await notes()).toEqual([`${imei}.${stored.fileId}`]);
      expect(await world.metric('upload_ftp_media_files_untold')).toMatch(/ 1$/);
      expect((await world.get(stored)).body.equals(content)).toBe(true);
    } finally {
      await broker.server.start();
    }
    await until(async () => (await notes()).length === 0);
    // A broker that is back needs some time for its streams.
    await until(async () => (await broker.told(imei).catch(() => [])).length > 0);
    expect(await broker.told(imei)).toEqual([stored]);
  });
});

describe('clips', () => {
  it('have nothing to do with files of terminals: what looks for their orphans leaves them alone', async () => {
    const stored = await world.keep(imei, randomBytes(100));
    const clips = new ClipDirectory(world.dir);
    await clips.prepare();
    expect((await clips.places(null).next()).done).toBe(true);
    const faults: unknown[] = [];
    const isAll = await clips.emptyRemoved(
      () => false,
      (error) => faults.push(error),
    );
    expect([isAll, faults]).toEqual([true, []]);
    expect((await stat(join(world.dir, '.media', imei, stored.fileId))).size).toBe(100);
  });
});
