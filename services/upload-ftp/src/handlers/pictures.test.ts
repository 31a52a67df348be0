import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaStored } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { type IncomingFile, type MediaAbout, NoSpaceError } from '../media/media-files.ts';
import { uploadMetrics } from '../metrics.ts';
import { jpeg, MediaBroker, MediaWorld, newImei } from '../testing/media-world.ts';
import { clipBytes } from '../testing/world.ts';
import { Pictures } from './pictures.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let broker: MediaBroker;
let world: MediaWorld;
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
  imei = newImei();
  world = await MediaWorld.open(broker);
});
afterEach(() => world.close());

async function toldOf(terminal: string, count = 1): Promise<MediaStored[]> {
  await until(async () => (await broker.told(terminal)).length >= count);
  return broker.told(terminal);
}
/** Every picture has been acknowledged. */
const allTaken = () => until(async () => (await broker.waiting()) === 0);

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

describe('a picture that a gateway has stored (0x0801)', () => {
  it('is kept, told of, handed out and acknowledged', async () => {
    const data = jpeg();
    await broker.sends(imei, { data, location, eventCode: 1 }, { receivedAtMs: 1_769_000_000_000 });
    const [stored = { imei, fileId: '' }] = await toldOf(imei);
    expect(stored).toEqual({
      fileId: expect.stringMatching(/^[0-9a-f]{24}$/),
      imei,
      server: world.pod,
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
    expect((await world.get(stored)).body.equals(data)).toBe(true);
    await allTaken();
    expect(await world.metric('upload_ftp_media_files_total{kind="image"')).toMatch(/source="timer".* 1$/);
  });

  it('is the same file, told of once, however often it comes', async () => {
    const data = jpeg();
    for (let times = 0; times < 3; times += 1) await broker.sends(imei, { data }, { receivedAtMs: 1_769_000_000_000 });
    await allTaken();
    expect(await broker.told(imei)).toHaveLength(1);
    expect(await world.files(imei)).toHaveLength(1);
  });

  it('is kept whole up to what the broker takes, several at a time', async () => {
    const pictures = Array.from({ length: 3 }, () => jpeg(7_800_000));
    for (const data of pictures) await broker.sends(imei, { data });
    const told = await toldOf(imei, pictures.length);
    expect(told.map(({ sizeBytes }) => sizeBytes)).toEqual(pictures.map(({ length }) => length));
    const kept = await Promise.all(told.map(async (stored) => (await world.get(stored)).body));
    for (const data of pictures) expect(kept.some((body) => body.equals(data))).toBe(true);
    await allTaken();
  });

  it('is told as what it really is', async () => {
    // The same each time: where others send a location, some bytes of chance begin like a file of another kind.
    const film = Buffer.concat([Buffer.from('000000206674797069736f6d', 'hex'), clipBytes(100)]);
    await broker.sends(imei, { data: film, type: 0, format: 0 });
    expect(await toldOf(imei)).toMatchObject([{ kind: 'video', mimeType: 'video/mp4' }]);
  });

  it('that can not be read or is empty is counted, and keeps nobody waiting', async () => {
    await broker.sendsBytes(imei, Buffer.from('00', 'hex'));
    await broker.sends(imei, { data: Buffer.alloc(0) });
    await broker.sendsBytes(imei, Buffer.alloc(0));
    await broker.sends(imei, {});
    await allTaken();
    expect(await broker.told(imei)).toHaveLength(1);
    expect(await world.metric('upload_ftp_pictures_dropped_total{reason="unreadable"')).toMatch(/ 2$/);
    expect(await world.metric('upload_ftp_pictures_dropped_total{reason="empty"')).toMatch(/ 1$/);
  });

  it('waits in the stream while there is no room, and leaves nothing on disk', async () => {
    await world.end();
    world = await MediaWorld.open(broker, { CLIPS_MIN_FREE_BYTES: '900000000000000' }, world);
    await broker.sends(imei, {});
    await until(async () => /[1-9]$/.test(await world.metric('upload_ftp_pictures_waiting_total')));
    expect(await broker.waiting()).toBe(1);
    expect([await world.files(imei), await world.files('.incoming'), await broker.told(imei)]).toEqual([[], [], []]);
    await world.end();
    world = await MediaWorld.open(broker, {}, world);
    await toldOf(imei);
    await allTaken();
  });

  it('is left to other pods by one without room, until that has room again', async () => {
    const { media } = world;
    const disk = { obstacle: async () => obstacle };
    let obstacle: string | null = 'full';
    const kept: number[] = [];
    await world.end();
    const parts = {
      media: {
        open: (terminal: string) =>
          obstacle === null ? media.open(terminal) : Promise.reject(new NoSpaceError(obstacle)),
        keep: async (file: IncomingFile, { fileIdSeed: _seed, ...about }: MediaAbout): Promise<MediaStored> => {
          const { sizeBytes } = file;
          await file.discard();
          kept.push(sizeBytes);
          return { ...about, fileId: '0'.repeat(24), server: 'here', sizeBytes };
        },
      },
      disk,
      metrics: uploadMetrics().media,
      log: createLogger('pictures-test', 'silent'),
    };
    const pictures = new Pictures(broker.bus, parts);
    try {
      await until(async () => (await broker.asking()) > 0);
      await broker.sends(imei, {});
      await until(async () => (await broker.asking()) === 0);
      expect(await broker.waiting()).toBe(1);
      obstacle = null;
      await until(async () => (await broker.waiting()) === 0);
    } finally {
      await pictures.stop();
    }
    expect(kept).toHaveLength(1);
  });

  it('is tried again where the disk fails in the middle', async () => {
    const folder = join(world.dir, '.media', '.incoming');
    await rm(folder, { recursive: true });
    await broker.sends(imei, {});
    await until(async () => (await broker.waiting()) === 1);
    await mkdir(folder);
    await toldOf(imei);
    expect(await world.files('.incoming')).toEqual([]);
  });

  it('whose pod ends before it is acknowledged is kept by another, as the same file', async () => {
    const other = await MediaWorld.open(broker, {}, { dir: world.dir });
    try {
      const data = Array.from({ length: 12 }, () => jpeg());
      for (const each of data) await broker.sends(imei, { data: each });
      await world.end();
      const told = await toldOf(imei, data.length);
      expect(new Set(told.map(({ fileId }) => fileId)).size).toBe(data.length);
      await allTaken();
      expect(await world.files(imei)).toHaveLength(data.length);
    } finally {
      await other.end();
    }
  });
});
