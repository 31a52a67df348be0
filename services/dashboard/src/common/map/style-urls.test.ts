import { describe, expect, it } from '@jest/globals';
import { resolveSourceUrls, resolveStyleUrl } from './style-urls.ts';

const style = 'https://maps.example/styles/streets/style.json?key=1';

describe('resolveStyleUrl', () => {
  it.each([
    ['tiles/{z}/{x}/{y}.pbf', 'https://maps.example/styles/streets/tiles/{z}/{x}/{y}.pbf'],
    ['/tiles/{z}/{x}/{y}.pbf?key={key}', 'https://maps.example/tiles/{z}/{x}/{y}.pbf?key={key}'],
    ['../sprite', 'https://maps.example/styles/sprite'],
    ['https://other.example/{z}/{x}/{y}.png', 'https://other.example/{z}/{x}/{y}.png'],
    ['pmtiles://https://other.example/map.pmtiles', 'pmtiles://https://other.example/map.pmtiles'],
  ])('resolves %s', (url, expected) => {
    expect(resolveStyleUrl(url, style)).toBe(expected);
  });
});

describe('resolveSourceUrls', () => {
  it('resolves descriptions, tiles and data of each kind of source, and keeps everything else', () => {
    const shape = { type: 'FeatureCollection' as const, features: [] };
    const sources = {
      described: { type: 'vector' as const, url: 'tiles.json' },
      tiled: { type: 'raster' as const, tiles: ['a/{z}/{x}/{y}.png', 'b/{z}/{x}/{y}.png'], tileSize: 256 },
      places: { type: 'geojson' as const, data: 'places.json' },
      inline: { type: 'geojson' as const, data: shape },
    };
    expect(resolveSourceUrls(sources, style)).toEqual({
      described: { type: 'vector', url: 'https://maps.example/styles/streets/tiles.json' },
      tiled: {
        type: 'raster',
        tiles: [
          'https://maps.example/styles/streets/a/{z}/{x}/{y}.png',
          'https://maps.example/styles/streets/b/{z}/{x}/{y}.png',
        ],
        tileSize: 256,
      },
      places: { type: 'geojson', data: 'https://maps.example/styles/streets/places.json' },
      inline: { type: 'geojson', data: shape },
    });
  });
});
