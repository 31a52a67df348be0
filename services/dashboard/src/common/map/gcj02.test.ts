import { describe, expect, it } from '@jest/globals';
import { findGcj02Shift, type TilePlace } from './gcj02.ts';
import { toMercatorX, toMercatorY } from './mercator.ts';

/** Known pairs: longitude and latitude in WGS 84, then in GCJ-02. */
const pairs = [
  ['Shanghai', [121.5272106, 31.1774276], [121.531541859215, 31.17530398364597]],
  ['Shenzhen', [113.912316, 22.543847], [113.9171764808363, 22.540796131694766]],
  ['Beijing', [116.377817, 39.911954], [116.38404722455657, 39.91334545536069]],
] as const;

const z = 20;
const count = 2 ** z;
const tileAt = ([longitude, latitude]: readonly [number, number]): TilePlace => ({
  z,
  x: Math.floor(toMercatorX(longitude) * count),
  y: Math.floor(toMercatorY(latitude) * count),
});

describe('a tile of a GCJ-02 map', () => {
  it.each(pairs)('lies in %s where GCJ-02 has it', (_city, wgs84, gcj02) => {
    const [east, south] = findGcj02Shift(tileAt(wgs84));
    // The middle of the tile is up to half a tile away from the position, which changes the shift by far less.
    expect(east).toBeCloseTo((toMercatorX(gcj02[0]) - toMercatorX(wgs84[0])) * count, 1);
    expect(south).toBeCloseTo((toMercatorY(gcj02[1]) - toMercatorY(wgs84[1])) * count, 1);
  });

  it.each([
    ['São Paulo', [-46.63, -23.55]],
    ['Madrid', [-3.7, 40.42]],
  ] as const)('stays where it is far from China, as in %s', (_city, position) => {
    expect(findGcj02Shift(tileAt(position))).toEqual([expect.closeTo(0, 6), expect.closeTo(0, 6)]);
  });

  it.each([4, 8, 10, 12, 14, 16, 18])(
    'has at zoom %i a shift that differs by at most a pixel from its neighbour',
    (zoom) => {
      const [x, y] = [Math.floor(toMercatorX(113.9) * 2 ** zoom), Math.floor(toMercatorY(22.54) * 2 ** zoom)];
      const [here, there] = [findGcj02Shift({ z: zoom, x, y }), findGcj02Shift({ z: zoom, x: x + 1, y: y + 1 })];
      const pixels = Math.max(...here.map((value, index) => Math.abs(value - (there[index] ?? 0)) * 256));
      expect(pixels).toBeLessThanOrEqual(1);
    },
  );
});
