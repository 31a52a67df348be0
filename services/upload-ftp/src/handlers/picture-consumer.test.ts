import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaStored } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type IncomingFile, type MediaMetadata, NoSpaceError } from '../media/media-files.ts';
import { createUploadMetrics } from '../metrics.ts';
import { createJpeg, MediaBroker, MediaHarness, randomImei } from '../testing/media-harness.ts';
import { clipBytes } from '../testing/upload-harness.ts';
import { PictureConsumer } from './picture-consumer.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let broker: MediaBroker;
let harness: MediaHarness;
let imei: string;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-nats-'));
  const settings = join(folder, 'nats.conf');
  await writeFile(settings, 'max_payload: 8MB\n');
  broker = await MediaBroker.start(settings);
});
afterAll(async () => {
  await broker.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  imei = randomImei();
  harness = await MediaHarness.open(broker);
});
afterEach(() => harness.close());

async function waitForEvents(terminal: string, count = 1): Promise<MediaStored[]> {
  await waitFor(async () => (await broker.readStoredEvents(terminal)).length >= count);
  return broker.readStoredEvents(terminal);
}
/** Waits until every picture has been acknowledged. */
const waitUntilDrained = () => waitFor(async () => (await broker.countPending()) === 0);

const location = {
  alarm: 0,
  status: 3,
  latitudeDeg: 22.5,
  longitudeDeg: 114.25,
  altitudeM: 0,
  speedKmh: 0,
  directionDeg: 0,
  time: '2026-01-31T16:29:58',
};

describe('picture from the event stream (0x0801)', () => {
  it('is stored, published, served and acknowledged', async () => {
    const data = createJpeg();
    await broker.publishPicture(imei, { data, location, eventCode: 1 }, { receivedAtMs: 1_769_000_000_000 });
    const [stored = { imei, fileId: '' }] = await waitForEvents(imei);
    expect(stored).toEqual({
      fileId: expect.stringMatching(/^[0-9a-f]{24}$/),
      imei,
      server: harness.pod,
      kind: 'image',
      mimeType: 'image/jpeg',
      sizeBytes: data.length,
      channel: 2,
      source: 'timer',
      multimediaId: 7,
      takenAt: '2026-01-31T16:29:58',
      receivedAtMs: 1_769_000_000_000,
      place: { latitude: 22.5, longitude: 114.25 },
      attachment: null,
    });
    expect((await harness.get(stored)).body.equals(data)).toBe(true);
    await waitUntilDrained();
    expect(await harness.metric('upload_ftp_media_files_total{kind="image"')).toMatch(/source="timer".* 1$/);
  });

  it('is stored and published once, even if it is redelivered', async () => {
    const data = createJpeg();
    for (let times = 0; times < 3; times += 1)
      await broker.publishPicture(imei, { data }, { receivedAtMs: 1_769_000_000_000 });
    await waitUntilDrained();
    expect(await broker.readStoredEvents(imei)).toHaveLength(1);
    expect(await harness.listFiles(imei)).toHaveLength(1);
  });

  it("is stored completely up to the broker's payload limit, several at a time", async () => {
    const pictures = Array.from({ length: 3 }, () => createJpeg(7_800_000));
    for (const data of pictures) await broker.publishPicture(imei, { data });
    const events = await waitForEvents(imei, pictures.length);
    expect(events.map(({ sizeBytes }) => sizeBytes)).toEqual(pictures.map(({ length }) => length));
    const kept = await Promise.all(events.map(async (stored) => (await harness.get(stored)).body));
    for (const data of pictures) expect(kept.some((body) => body.equals(data))).toBe(true);
    await waitUntilDrained();
  });

  it('is published with its detected type', async () => {
    // Fixed bytes: where other terminals send a location, some random contents would start like another file type.
    const film = Buffer.concat([Buffer.from('000000206674797069736f6d', 'hex'), clipBytes(100)]);
    await broker.publishPicture(imei, { data: film, type: 0, format: 0 });
    expect(await waitForEvents(imei)).toMatchObject([{ kind: 'video', mimeType: 'video/mp4' }]);
  });

  it('is counted and acknowledged if it is unreadable or empty, without delaying others', async () => {
    await broker.publishPictureBytes(imei, Buffer.from('00', 'hex'));
    await broker.publishPicture(imei, { data: Buffer.alloc(0) });
    await broker.publishPictureBytes(imei, Buffer.alloc(0));
    await broker.publishPicture(imei, {});
    await waitUntilDrained();
    expect(await broker.readStoredEvents(imei)).toHaveLength(1);
    expect(await harness.metric('upload_ftp_pictures_dropped_total{reason="unreadable"')).toMatch(/ 2$/);
    expect(await harness.metric('upload_ftp_pictures_dropped_total{reason="empty"')).toMatch(/ 1$/);
  });

  it('waits in the stream while the disk is full and leaves no file', async () => {
    await harness.end();
    harness = await MediaHarness.open(broker, { CLIPS_MIN_FREE_BYTES: '900000000000000' }, harness);
    await broker.publishPicture(imei, {});
    await waitFor(async () => /[1-9]$/.test(await harness.metric('upload_ftp_pictures_waiting_total')));
    expect(await broker.countPending()).toBe(1);
    expect([
      await harness.listFiles(imei),
      await harness.listFiles('.incoming'),
      await broker.readStoredEvents(imei),
    ]).toEqual([[], [], []]);
    await harness.end();
    harness = await MediaHarness.open(broker, {}, harness);
    await waitForEvents(imei);
    await waitUntilDrained();
  });

  it('is left to other pods while the disk is full, until there is space again', async () => {
    const { media } = harness;
    const disk = { findError: async () => storageError };
    let storageError: string | null = 'full';
    const kept: number[] = [];
    await harness.end();
    const parts = {
      media: {
        open: (terminal: string) =>
          storageError === null ? media.open(terminal) : Promise.reject(new NoSpaceError(storageError)),
        store: async (file: IncomingFile, { fileIdSeed: _seed, ...metadata }: MediaMetadata): Promise<MediaStored> => {
          const { sizeBytes } = file;
          await file.discard();
          kept.push(sizeBytes);
          return { ...metadata, fileId: '0'.repeat(24), server: 'here', sizeBytes };
        },
      },
      disk,
      metrics: createUploadMetrics().media,
      log: createLogger('pictures-test', 'silent'),
    };
    const pictures = new PictureConsumer(broker.bus, parts);
    try {
      await waitFor(async () => (await broker.countPulls()) > 0);
      await broker.publishPicture(imei, {});
      await waitFor(async () => (await broker.countPulls()) === 0);
      expect(await broker.countPending()).toBe(1);
      storageError = null;
      await waitFor(async () => (await broker.countPending()) === 0);
    } finally {
      await pictures.stop();
    }
    expect(kept).toHaveLength(1);
  });

  it('is retried after a disk failure', async () => {
    const folder = join(harness.dir, '.media', '.incoming');
    await rm(folder, { recursive: true });
    await broker.publishPicture(imei, {});
    await waitFor(async () => (await broker.countPending()) === 1);
    await mkdir(folder);
    await waitForEvents(imei);
    expect(await harness.listFiles('.incoming')).toEqual([]);
  });

  it('is stored by another pod with the same id if its pod ends before the acknowledgement', async () => {
    const other = await MediaHarness.open(broker, {}, { dir: harness.dir });
    try {
      const data = Array.from({ length: 12 }, () => createJpeg());
      for (const each of data) await broker.publishPicture(imei, { data: each });
      await harness.end();
      const events = await waitForEvents(imei, data.length);
      expect(new Set(events.map(({ fileId }) => fileId)).size).toBe(data.length);
      await waitUntilDrained();
      expect(await harness.listFiles(imei)).toHaveLength(data.length);
    } finally {
      await other.end();
    }
  });
});
