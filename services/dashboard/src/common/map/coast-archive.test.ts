import { describe, expect, it } from '@jest/globals';
import { CoastArchive, joinTiles } from './coast-archive.ts';

describe('the archive of coasts', () => {
  const tiles = new Map([
    ['3/4', Uint8Array.of(1, 2, 3)],
    ['31/0', Uint8Array.of(4)],
  ]);
  const archive = new CoastArchive(joinTiles(tiles).buffer as ArrayBuffer);
  const read = (x: number, y: number): number[] => [...new Uint8Array(archive.getTile(x, y))];

  it('returns the bytes of each tile', () => {
    expect([read(3, 4), read(31, 0)]).toEqual([[1, 2, 3], [4]]);
  });

  it('returns an empty tile where there is only sea', () => {
    expect(read(4, 3)).toEqual([]);
  });

  it('returns copies, which a receiver may keep', () => {
    new Uint8Array(archive.getTile(3, 4)).fill(0);
    expect(read(3, 4)).toEqual([1, 2, 3]);
  });
});
