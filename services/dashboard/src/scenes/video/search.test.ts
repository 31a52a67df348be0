import { describe, expect, it } from '@jest/globals';
import { formatTiles, layoutFor, parseTiles, parseVideoSearch } from './search.ts';

describe('the address of the video wall', () => {
  it('names the camera of each tile', () => {
    const cameras = parseTiles('7.1,,9.2', 4);
    expect(cameras).toEqual([{ vehicleId: 7, channelId: 1 }, null, { vehicleId: 9, channelId: 2 }, null]);
    expect(formatTiles(cameras)).toBe('7.1,,9.2');
  });

  it('drops invalid cameras and layouts', () => {
    expect(parseTiles('x.1,7,-1.2,7.1234', 4)).toEqual([null, null, null, null]);
    expect(parseVideoSearch({ layout: 5, tiles: {} })).toEqual({});
    expect(parseVideoSearch({ layout: 9, tiles: 7.1 })).toEqual({ layout: 9, tiles: '7.1' });
  });

  it('has no tiles for an empty wall', () => {
    expect(formatTiles([null, null])).toBeUndefined();
  });

  it('uses the smallest layout that shows all cameras', () => {
    expect([1, 2, 5, 16, 40].map(layoutFor)).toEqual([1, 4, 9, 16, 16]);
  });
});
