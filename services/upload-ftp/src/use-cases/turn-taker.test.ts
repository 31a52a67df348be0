import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLogger } from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { ClipKeeper, type ClipKeeperOptions } from '../clips/clip-keeper.ts';
import { DirectoryStorage } from '../clips/directory-storage.ts';
import type { OpenUploads } from '../receiving/open-uploads.ts';
import { ClipDirectory, type UploadPlace } from '../store/clip-directory.ts';
import { removeOrphans } from './remove-orphans.ts';
import { type SweepTurn, TurnTaker } from './turn-taker.ts';

const log = createLogger('turn-taker-test', 'silent');
const raise = (error: unknown): void => {
  throw error;
};

/** A turn that is over behind so many files. */
function turnOf<P>(files: number, from: P | null): SweepTurn<P> {
  let asked = 0;
  return { from, isOver: () => (asked += 1) >= files };
}

describe('a sweep in turns', () => {
  const takers: { stop(): Promise<void> }[] = [];
  afterEach(() => Promise.all(takers.splice(0).map((taker) => taker.stop())));

  it('goes on where a turn has left off until all is done, and begins anew a period later', async () => {
    const seen: (number | null)[] = [];
    const takeTurn = async ({ from, isOver }: SweepTurn<number>): Promise<number | null> => {
      seen.push(from);
      while (!isOver()) await new Promise((resolve) => setImmediate(resolve));
      return seen.length % 3 === 0 ? null : seen.length;
    };
    takers.push(new TurnTaker<number>({ periodMs: 20, takeTurn, onError: raise, turnMs: 10 }));
    await until(() => seen.length >= 7);
    expect(seen.slice(0, 7)).toEqual([null, 1, 2, null, 4, 5, null]);
  });

  it('ends behind the file at hand when it is stopped, and begins no more', async () => {
    let files = 0;
    const takeTurn = async ({ isOver }: SweepTurn<number>): Promise<number | null> => {
      for (; files < 100_000; ) {
        files += 1;
        await new Promise((resolve) => setImmediate(resolve));
        if (isOver()) return files;
      }
      return null;
    };
    const taker = new TurnTaker<number>({ periodMs: 3_600_000, takeTurn, onError: raise, turnMs: 3_600_000 });
    void taker.now();
    await until(() => files > 10);
    const stopping = taker.stop();
    const filesThen = files;
    await stopping;
    expect(files - filesThen).toBeLessThanOrEqual(1);
    await taker.now();
    expect(files - filesThen).toBeLessThanOrEqual(1);
  });

  it('that fails is tried again from the same place, a period later', async () => {
    const seen: (number | null)[] = [];
    let errors = 0;
    const takeTurn = async ({ from }: SweepTurn<number>): Promise<number | null> => {
      seen.push(from);
      if (seen.length === 2) throw new Error('away');
      return 7;
    };
    takers.push(new TurnTaker<number>({ periodMs: 5, takeTurn, onError: () => (errors += 1) }));
    await until(() => seen.length >= 3);
    expect([seen.slice(0, 3), errors]).toEqual([[null, 7, 7], 1]);
  });
});

describe('directories of uploads', () => {
  let dir: string;
  let clips: ClipDirectory;
  beforeEach(async () => {
    dir = mkdtempSync(join(tmpdir(), 'fleet-turns-'));
    clips = new ClipDirectory(dir);
    await clips.prepare();
  });
  afterEach(() => rmSync(dir, { recursive: true, force: true }));

  /** So many uploads of two cameras, each with a file. */
  function makeUploads(count: number): UploadPlace[] {
    return Array.from({ length: count }, (_, at) => {
      const place = { imei: at % 2 === 0 ? '13800138000' : '13900139000', id: randomBytes(12).toString('hex') };
      mkdirSync(clips.filesDir(place), { recursive: true });
      writeFileSync(join(clips.filesDir(place), 'a.h264'), 'x');
      return place;
    });
  }
  async function idsHere(): Promise<string[]> {
    const ids: string[] = [];
    for await (const { id } of clips.places(null)) ids.push(id);
    return ids.toSorted();
  }
  type Sweep = (turn: SweepTurn<UploadPlace>) => Promise<UploadPlace | null>;
  async function turnsUntilDone(sweep: Sweep, files: number): Promise<number> {
    let from: UploadPlace | null = null;
    for (let turns = 1; turns < 1_000; turns += 1) {
      from = await sweep(turnOf(files, from));
      if (from === null) return turns;
    }
    throw new Error('it does not end');
  }

  it('that nobody has use for are removed in turns, behind any number of those in use', async () => {
    const places = makeUploads(450);
    const inUse = new Set(places.filter((_place, at) => at % 3 !== 0).map(({ id }) => id));
    for (let at = 0; at < 5; at += 1) mkdirSync(join(dir, '.removed', `left-${at}`));
    const records = {
      statusesOf: async (ids: readonly string[]) =>
        new Map(ids.flatMap((id) => (inUse.has(id) ? [[id, 'completed'] as const] : []))),
    } as unknown as UploadRecords;
    const uploads = { end: async () => undefined } as unknown as OpenUploads;
    const parts = { records, uploads, clips, onError: raise, remove: (place: UploadPlace) => clips.remove(place) };
    expect(await turnsUntilDone((turn) => removeOrphans(parts, turn), 10)).toBeGreaterThan(10);
    expect(await idsHere()).toEqual([...inUse].toSorted());
    expect(await turnsUntilDone((turn) => removeOrphans(parts, turn), 1_000)).toBe(1);
  });

  it('that nobody has use for are removed, whichever of them can not be', async () => {
    const places = makeUploads(12);
    const inOrder: UploadPlace[] = [];
    for await (const place of clips.places(null)) inOrder.push(place);
    const broken = new Set(inOrder.slice(1, 6).map(({ id }) => id));
    const faults: unknown[] = [];
    const parts = {
      records: { statusesOf: async () => new Map() } as unknown as UploadRecords,
      uploads: { end: async () => undefined } as unknown as OpenUploads,
      clips,
      onError: (error: unknown) => faults.push(error),
      remove: async (place: UploadPlace) => {
        if (broken.has(place.id)) throw new Error('can not be removed');
        await clips.remove(place);
      },
    };
    // The storage may be away: a turn does not wait for it with each of them, and the next one goes on behind it.
    expect(await turnsUntilDone((turn) => removeOrphans(parts, turn), places.length + 1)).toBe(2);
    expect(await idsHere()).toEqual([...broken].toSorted());
    expect(faults).toHaveLength(broken.size);
  });

  it('are moved to object storage in turns, whichever of them can not be', async () => {
    const places = makeUploads(12);
    const broken = places[5]?.id;
    const upload = ({ imei, id }: UploadPlace): UploadRecord =>
      ({
        _id: id,
        clip: { imei },
        status: 'completed',
        server: { podId: 'pod', httpUrl: '' },
        filesize: 1,
        files: [{ path: 'a.h264', sizeBytes: 1 }],
      }) as unknown as UploadRecord;
    const keeper = new ClipKeeper({
      directory: clips,
      local: new DirectoryStorage(clips),
      shared: {
        put: async ({ id }: UploadPlace) => {
          if (id === broken) throw new Error('too large');
        },
      } as unknown as NonNullable<ClipKeeperOptions['shared']>,
      records: {
        find: async (id) => upload(places.find((place) => place.id === id) as UploadPlace),
        set: async (id) => upload(places.find((place) => place.id === id) as UploadPlace),
      },
      log,
    });
    expect(await turnsUntilDone((turn) => keeper.sweep(turn), 4)).toBeGreaterThan(2);
    expect(await idsHere()).toEqual([broken]);
    await keeper.stop();
  });
});
