import type { Feature, FeatureCollection } from 'geojson';
import type { LayerSpecification, StyleSpecification } from 'maplibre-gl';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldUrl from 'world-atlas/countries-50m.json?url';
import type { ThemeColors } from '../theme/tokens.ts';
import { coastZoom } from './coast-archive.ts';
import { unwrapLongitudes } from './unwrap-longitudes.ts';

type World = Topology<{ countries: GeometryCollection; land: GeometryCollection }>;

let countries: Promise<FeatureCollection> | undefined;

async function loadCountries(): Promise<FeatureCollection> {
  const response = await fetch(worldUrl);
  if (!response.ok) throw new Error(`The base map could not be loaded: ${response.status}.`);
  const world = (await response.json()) as World;
  return unwrapLongitudes(feature(world, world.objects.countries) as FeatureCollection);
}

/** Returns the borders of all countries, which are part of the build: the map works without the internet. */
export const getCountries = (): Promise<FeatureCollection> => (countries ??= loadCountries());

let cities: Promise<FeatureCollection> | undefined;

async function loadCities(): Promise<FeatureCollection> {
  const { cities: rows } = await import('./cities.ts');
  const features = rows.map(
    ([name, longitude, latitude, population]): Feature => ({
      type: 'Feature',
      properties: { name, population },
      geometry: { type: 'Point', coordinates: [longitude, latitude] },
    }),
  );
  return { type: 'FeatureCollection', features };
}

/** Returns the cities of 100,000 people and more, which are part of the build too. */
export const getCities = (): Promise<FeatureCollection> => (cities ??= loadCities());

/** Names of the coasts: `coarse` ones for the world, and the tiles of `fine` ones for closer views. */
type Coasts = 'coarse' | 'fine';

/** Id of the source of the coasts, and the start of the ids of their layers. */
export const coastIds: Readonly<Record<Coasts, string>> = { coarse: 'countries', fine: 'coasts' };

const baseLayerIds: ReadonlySet<string> = new Set([
  'water',
  ...Object.values(coastIds).flatMap((id) => [`${id}-land`, `${id}-borders`]),
  'cities',
]);

/** Returns whether a layer is part of the offline base map. */
export const isBaseLayer = (id: string): boolean => baseLayerIds.has(id);

/** Returns the layers of land and borders in the colours of the theme. */
export function createCoastLayers(colors: ThemeColors, coasts: Coasts): LayerSpecification[] {
  const id = coastIds[coasts];
  const from = (layer: string) =>
    coasts === 'fine' ? { source: id, 'source-layer': layer, minzoom: coastZoom } : { source: id };
  return [
    { id: `${id}-land`, type: 'fill', ...from('land'), paint: { 'fill-color': colors.land } },
    {
      id: `${id}-borders`,
      type: 'line',
      ...from('borders'),
      paint: { 'line-color': colors.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.5, 10, 2] },
    },
  ];
}

/** Returns the style of the offline base map: land, water, borders and cities in the colours of the theme. */
export const createBaseStyle = (colors: ThemeColors, data: FeatureCollection): StyleSpecification => ({
  version: 8,
  sources: {
    [coastIds.coarse]: { type: 'geojson', data, attribution: 'Natural Earth' },
    cities: { type: 'geojson', data: { type: 'FeatureCollection', features: [] }, attribution: 'GeoNames' },
  },
  layers: [
    { id: 'water', type: 'background', paint: { 'background-color': colors.water } },
    ...createCoastLayers(colors, 'coarse'),
    {
      id: 'cities',
      type: 'symbol',
      source: 'cities',
      // The whole world has place for the largest cities only.
      filter: ['>=', ['get', 'population'], ['step', ['zoom'], 5e6, 3, 2e6, 4, 1e6, 5, 5e5, 6, 2e5, 8, 0]],
      layout: {
        'text-field': ['get', 'name'],
        'text-font': ['sans-serif'],
        'text-size': ['step', ['get', 'population'], 11, 1e6, 12, 5e6, 13],
        'symbol-sort-key': ['-', ['get', 'population']],
      },
      paint: { 'text-color': colors.mutedText, 'text-halo-color': colors.land, 'text-halo-width': 1 },
    },
  ],
});
