import { randomBytes } from 'node:crypto';
import { mkdir, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ClipDirectory } from '../store/clip-directory.ts';
import { MediaDirectory } from '../store/media-directory.ts';
import { createJpeg, createMetadata, MediaBroker, MediaHarness, randomImei } from '../testing/media-harness.ts';
import { IncomingFile, NoSpaceError } from './media-files.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let broker: MediaBroker;
let harness: MediaHarness;
let imei: string;
beforeAll(async () => {
  broker = await MediaBroker.start();
});
afterAll(() => broker.stop());
beforeEach(async () => {
  imei = randomImei();
  harness = await MediaHarness.open(broker);
});
afterEach(() => harness.close());

const listPendingEvents = () => harness.listFiles('.untold');
const incoming = () => harness.listFiles('.incoming');
/** Restarts the service after a kill: only its volume remains. */
async function restart(): Promise<void> {
  await harness.end();
  harness = await MediaHarness.open(broker, {}, harness);
}

describe('storing a file of a terminal', () => {
  it('stores the file under its id, publishes one event and leaves nothing else', async () => {
    const content = createJpeg();
    const stored = await harness.storeFile(imei, content);
    expect(stored).toEqual({
      ...createMetadata(imei),
      fileIdSeed: undefined,
      fileId: expect.stringMatching(/^[0-9a-f]{24}$/),
      server: harness.pod,
      sizeBytes: content.length,
    });
    expect((await readFile(join(harness.dir, '.media', imei, stored.fileId))).equals(content)).toBe(true);
    expect(await broker.readStoredEvents(imei)).toEqual([stored]);
    expect([await listPendingEvents(), await incoming()]).toEqual([[], []]);
  });

  it('accepts pieces in any order and allows reading while receiving', async () => {
    const content = createJpeg(10_000);
    const file = await harness.media.open(imei);
    await file.write(content.subarray(5_000), 5_000);
    expect([file.bytesWritten, file.sizeBytes]).toEqual([5_000, 10_000]);
    await file.write(content.subarray(0, 6_000), 0);
    expect([file.bytesWritten, file.sizeBytes]).toEqual([11_000, 10_000]);
    expect((await readFile(file.path)).equals(content)).toBe(true);
    const { fileId, sizeBytes } = await harness.media.store(file, createMetadata(imei));
    expect(sizeBytes).toBe(10_000);
    expect((await harness.get({ imei, fileId })).body.equals(content)).toBe(true);
  });

  it('returns the same id and publishes once for the same file; other bytes, terminals or seeds get other ids', async () => {
    const content = createJpeg();
    const [first, again] = await Promise.all([harness.storeFile(imei, content), harness.storeFile(imei, content)]);
    expect(again).toEqual(first);
    expect(await harness.storeFile(imei, content)).toEqual(first);
    expect(await broker.readStoredEvents(imei)).toHaveLength(1);
    const otherImei = randomImei();
    const others = [
      await harness.storeFile(imei, createJpeg()),
      await harness.storeFile(imei, content, { fileIdSeed: 'another' }),
      await harness.storeFile(otherImei, content),
    ];
    expect(new Set([first, ...others].map(({ fileId }) => fileId)).size).toBe(4);
    expect(await harness.listFiles(imei)).toHaveLength(3);
  });

  it('accepts an empty file', async () => {
    const stored = await harness.storeFile(imei, Buffer.alloc(0));
    expect(stored.sizeBytes).toBe(0);
    expect(await broker.readStoredEvents(imei)).toEqual([stored]);
    const { status, headers, body } = await harness.get({ imei, fileId: stored.fileId });
    expect([status, headers['content-length'], body]).toEqual([200, '0', Buffer.alloc(0)]);
  });

  it('leaves nothing of a discarded file or of one that cannot be stored', async () => {
    const file = await harness.media.open(imei);
    await file.write(createJpeg(), 0);
    await file.discard();
    await file.discard();
    await expect(harness.storeFile(imei, createJpeg(), { mimeType: '' })).rejects.toThrow('invalid file metadata');
    await expect(harness.storeFile(imei, createJpeg(), { imei: randomImei() })).rejects.toThrow('another terminal');
    await expect(harness.storeFile('../escape', createJpeg())).rejects.toThrow(RangeError);
    expect([await incoming(), await listPendingEvents(), await harness.listFiles(imei)]).toEqual([[], [], []]);
    expect(await broker.readStoredEvents(imei)).toEqual([]);
  });

  it('refuses new files without disk space', async () => {
    await harness.end();
    harness = await MediaHarness.open(broker, { CLIPS_MIN_FREE_BYTES: '900000000000000' }, harness);
    await expect(harness.media.open(imei)).rejects.toThrow(NoSpaceError);
  });

  it('removes a file, also repeatedly, after which it is neither served nor published', async () => {
    const stored = await harness.storeFile(imei, createJpeg());
    expect((await harness.get(stored)).status).toBe(200);
    expect(await harness.remove(harness.pod, stored)).toEqual({});
    expect(await harness.remove(harness.pod, stored)).toEqual({});
    expect((await harness.get(stored)).status).toBe(404);
    expect(await harness.listFiles(imei)).toEqual([]);
    await expect(harness.remove('any', stored)).rejects.toMatchObject({ kind: 'noResponders' });
  });
});

describe('file that is received again after its removal', () => {
  it('is published again, because its record may have been deleted', async () => {
    const content = createJpeg();
    const first = await harness.storeFile(imei, content);
    await harness.remove(harness.pod, first);
    const again = await harness.storeFile(imei, content, { receivedAtMs: first.receivedAtMs + 1 });
    expect(again.fileId).toBe(first.fileId);
    expect(await broker.readStoredEvents(imei)).toEqual([first, again]);
  });
});

describe('removal of leftovers', () => {
  it('ignores a finished file until it is discarded', async () => {
    const directory = new MediaDirectory(harness.dir, 'another');
    const { path, release } = directory.reserveIncoming();
    const file = await IncomingFile.create(imei, path, release);
    await file.write(createJpeg(), 0);
    await file.finish();
    await directory.removeLeftovers();
    expect(await incoming()).toHaveLength(1);
    await file.discard();
    await writeFile(path, 'x');
    await directory.removeLeftovers();
    expect(await incoming()).toEqual([]);
  });
});

describe('removal with a time limit', () => {
  it('does not remove a file that was received again later', async () => {
    const content = createJpeg();
    const stored = await harness.storeFile(imei, content);
    const path = join(harness.dir, '.media', imei, stored.fileId);
    await utimes(path, new Date(10_000), new Date(10_000));
    expect(await harness.remove(harness.pod, stored, { storedBeforeMs: 10_000 })).toEqual({});
    expect((await harness.get(stored)).status).toBe(200);
    const beforeMs = Date.now() - 1_000;
    await harness.storeFile(imei, content);
    expect(await harness.remove(harness.pod, stored, { storedBeforeMs: beforeMs })).toEqual({});
    expect((await harness.get(stored)).status).toBe(200);
    expect(await harness.remove(harness.pod, stored, { storedBeforeMs: Date.now() + 1_000 })).toEqual({});
    expect((await harness.get(stored)).status).toBe(404);
  });
});

describe('recovery from a crash', () => {
  const filePath = (fileId: string) => join(harness.dir, '.media', imei, fileId);
  const pendingEventPath = (fileId: string) => join(harness.dir, '.media', '.untold', `${imei}.${fileId}`);

  /** Returns the event of a stored file, as the volume holds it beside the file until it is published. */
  async function storeAndReadEvent(content: Buffer) {
    const stored = await harness.storeFile(randomImei(), content);
    const { server: _server, ...metadata } = stored;
    // The broker accepts one message per id.
    return { ...metadata, imei, fileId: randomBytes(12).toString('hex') };
  }

  it('publishes a file once after the start if the crash came before its event', async () => {
    const content = createJpeg();
    const pendingEvent = await storeAndReadEvent(content);
    await harness.end();
    await mkdir(join(harness.dir, '.media', imei));
    await writeFile(filePath(pendingEvent.fileId), content);
    await writeFile(pendingEventPath(pendingEvent.fileId), JSON.stringify(pendingEvent));
    await restart();
    await waitFor(async () => (await listPendingEvents()).length === 0);
    expect(await broker.readStoredEvents(imei)).toEqual([{ ...pendingEvent, server: harness.pod }]);
  });

  it('does not publish twice if the crash came after the event', async () => {
    const content = createJpeg();
    const { server: _server, ...pendingEvent } = await harness.storeFile(imei, content);
    await harness.end();
    await writeFile(pendingEventPath(pendingEvent.fileId), JSON.stringify(pendingEvent));
    await restart();
    await waitFor(async () => (await listPendingEvents()).length === 0);
    expect(await harness.storeFile(imei, content)).toMatchObject(pendingEvent);
    expect(await broker.readStoredEvents(imei)).toHaveLength(1);
  });

  it('publishes other files when some cannot be read', async () => {
    const content = createJpeg();
    const pendingEvent = await storeAndReadEvent(content);
    await harness.end();
    await mkdir(join(harness.dir, '.media', imei));
    const [missingFiles, presentFiles] = [2, 6].map((count) =>
      Array.from({ length: count }, () => ({ ...pendingEvent, fileId: randomBytes(12).toString('hex') })),
    );
    for (const { fileId } of missingFiles ?? []) await symlink(filePath(fileId), filePath(fileId));
    for (const { fileId } of presentFiles ?? []) await writeFile(filePath(fileId), content);
    for (const each of [...(missingFiles ?? []), ...(presentFiles ?? [])])
      await writeFile(pendingEventPath(each.fileId), JSON.stringify(each));
    await restart();
    await waitFor(async () => (await listPendingEvents()).length === 2);
    expect(await broker.readStoredEvents(imei)).toHaveLength(6);
  });

  it('publishes nothing for a file that was not moved into place, and deletes its outbox entry after a while', async () => {
    const pendingEvent = await storeAndReadEvent(createJpeg());
    await writeFile(pendingEventPath(pendingEvent.fileId), JSON.stringify(pendingEvent));
    expect(await harness.media.sweep({ isOver: () => false })).toBeNull();
    expect(await listPendingEvents()).toHaveLength(1);
    await utimes(pendingEventPath(pendingEvent.fileId), new Date(0), new Date(0));
    await waitFor(async () => (await listPendingEvents()).length === 0);
    expect(await broker.readStoredEvents(imei)).toEqual([]);
  });

  it('deletes files that this pod was receiving, but not those of another pod on the volume', async () => {
    const file = await harness.media.open(imei);
    await file.write(createJpeg(), 0);
    const foreign = join(harness.dir, '.media', '.incoming', 'another-pod.0123');
    await writeFile(foreign, 'x');
    expect(await incoming()).toHaveLength(2);
    await restart();
    expect(await incoming()).toEqual(['another-pod.0123']);
    await file.discard();
    await utimes(foreign, new Date(0), new Date(0));
    await restart();
    expect(await incoming()).toEqual([]);
  });

  it('deletes unreadable outbox entries', async () => {
    await writeFile(pendingEventPath('0'.repeat(24)), 'no JSON');
    await writeFile(pendingEventPath('1'.repeat(24)), '{"imei":"1"}');
    await waitFor(async () => (await listPendingEvents()).length === 0);
    expect(await broker.readStoredEvents(imei)).toEqual([]);
  });
});

describe('broker outage', () => {
  it('stores and serves a file, and publishes it once the broker is back', async () => {
    await broker.server.kill();
    const content = createJpeg();
    let stored;
    try {
      stored = await harness.storeFile(imei, content);
      expect(await listPendingEvents()).toEqual([`${imei}.${stored.fileId}`]);
      expect(await harness.metric('upload_ftp_media_files_unpublished')).toMatch(/ 1$/);
      expect((await harness.get(stored)).body.equals(content)).toBe(true);
    } finally {
      await broker.server.start();
    }
    await waitFor(async () => (await listPendingEvents()).length === 0);
    // A restarted broker needs some time to load its streams.
    await waitFor(async () => (await broker.readStoredEvents(imei).catch(() => [])).length > 0);
    expect(await broker.readStoredEvents(imei)).toEqual([stored]);
  });
});

describe('orphan search of clips', () => {
  it('does not affect files of terminals', async () => {
    const stored = await harness.storeFile(imei, randomBytes(100));
    const clips = new ClipDirectory(harness.dir);
    await clips.prepare();
    expect((await clips.listUploads(null).next()).done).toBe(true);
    const errors: unknown[] = [];
    const isAll = await clips.emptyTrash(
      () => false,
      (error) => errors.push(error),
    );
    expect([isAll, errors]).toEqual([true, []]);
    expect((await stat(join(harness.dir, '.media', imei, stored.fileId))).size).toBe(100);
  });
});
