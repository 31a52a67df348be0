import { ConfigError } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { readMapSources } from './map-sources.ts';

const source = { name: 'Streets', type: 'raster', url: 'https://tiles.example/{z}/{x}/{y}.png' };
const read = (...sources: readonly object[]) => readMapSources(JSON.stringify(sources));

describe('MAP_SOURCES', () => {
  it('is empty by default', () => {
    expect(readMapSources(undefined)).toEqual([]);
  });

  it('has defaults for what a source leaves out', () => {
    expect(read(source)).toEqual([
      { ...source, attribution: '', max_zoom: 19, tile_size: 256, coordinate_system: 'wgs84', origins: [] },
    ]);
  });

  it('keeps the order of the sources', () => {
    const style = { name: 'Satellite', type: 'style', url: 'https://maps.example/style.json' };
    expect(read(style, source).map(({ name }) => name)).toEqual(['Satellite', 'Streets']);
  });

  it.each([
    ['is not JSON', '[{', /^MAP_SOURCES is invalid: /],
    ['is not a list', '{}', /^MAP_SOURCES is invalid: the value must be array/],
    ['misspells a field', JSON.stringify([{ ...source, maxzoom: 3 }]), /^MAP_SOURCES is invalid: 0/],
    ['has an unknown type', JSON.stringify([{ ...source, type: 'wms' }]), /^MAP_SOURCES is invalid: 0\.type/],
    ['has an origin with a path', JSON.stringify([{ ...source, origins: ['https://a.example/b'] }]), /0\.origins\.0/],
    ['has an address of another protocol', JSON.stringify([{ ...source, url: 'ftp://a.example/x' }]), /0\.url/],
    [
      'has tiles without a place',
      JSON.stringify([{ ...source, url: 'https://a.example/z.png' }]),
      /Streets needs \{z\}/,
    ],
    [
      'has vector tiles in GCJ-02',
      JSON.stringify([{ ...source, type: 'vector', coordinate_system: 'gcj02' }]),
      /Streets can have coordinate_system gcj02 only as raster/,
    ],
    ['has two sources of the same name', JSON.stringify([source, source]), /two sources of the same name/],
  ])('is refused if it %s', (_fault, text, message) => {
    expect(() => readMapSources(text)).toThrow(ConfigError);
    expect(() => readMapSources(text)).toThrow(message);
  });
});
