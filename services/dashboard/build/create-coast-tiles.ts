import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { GeoJSONVT } from '@maplibre/geojson-vt';
import { fromGeojsonVt } from '@maplibre/vt-pbf';
import type { Geometry, MultiLineString, Position } from 'geojson';
import { feature, mesh } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import { coastZoom, joinTiles } from '../src/common/map/coast-archive.ts';
import { unwrapGeometry } from '../src/common/map/unwrap-longitudes.ts';

type World = Topology<{ countries: GeometryCollection; land: GeometryCollection }>;

const require = createRequire(import.meta.url);
/** Of MapLibre, which computes in these units: 150 m at the equator. */
const extent = 8192;
/** Width of the margin of each tile, which hides the edges of its areas. */
const buffer = 64;

const isAntimeridian = ([longitude = 0]: Position): boolean => Math.abs(longitude) > 179.999;

/** Returns lines without their parts along the antimeridian, where areas are cut but no border is. */
function removeAntimeridian({ coordinates }: MultiLineString): MultiLineString {
  const lines: Position[][] = [];
  for (const line of coordinates) {
    let part: Position[] = [];
    for (const position of line) {
      const previous = part.at(-1);
      if (previous !== undefined && isAntimeridian(previous) && isAntimeridian(position)) {
        if (part.length > 1) lines.push(part);
        part = [];
      }
      part.push(position);
    }
    if (part.length > 1) lines.push(part);
  }
  return { type: 'MultiLineString', coordinates: lines };
}

const createIndex = (geometries: readonly Geometry[]): GeoJSONVT =>
  new GeoJSONVT(
    {
      type: 'FeatureCollection',
      features: geometries.map((geometry) => ({
        type: 'Feature',
        properties: {},
        geometry: unwrapGeometry(geometry),
      })),
    },
    { maxZoom: coastZoom, indexMaxZoom: coastZoom, indexMaxPoints: 0, extent, buffer },
  );

/**
 * Returns an archive of vector tiles with the coasts and borders of Natural Earth 1:10 million: the layers `land` and
 * `borders` at one zoom level.
 */
export function createCoastTiles(): Uint8Array {
  const world = JSON.parse(readFileSync(require.resolve('world-atlas/countries-10m.json'), 'utf8')) as World;
  const land = createIndex(feature(world, world.objects.land).features.map(({ geometry }) => geometry));
  const borders = createIndex([removeAntimeridian(mesh(world, world.objects.countries))]);
  const tiles = new Map<string, Uint8Array>();
  const columns = 2 ** coastZoom;
  for (let x = 0; x < columns; x += 1)
    for (let y = 0; y < columns; y += 1) {
      const areas = land.getTile(coastZoom, x, y);
      const lines = borders.getTile(coastZoom, x, y);
      const layers = { ...(areas === null ? {} : { land: areas }), ...(lines === null ? {} : { borders: lines }) };
      if (Object.keys(layers).length > 0) tiles.set(`${x}/${y}`, fromGeojsonVt(layers, { version: 2, extent }));
    }
  return joinTiles(tiles);
}
