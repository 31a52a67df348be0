import type { FeatureCollection } from 'geojson';
import type { StyleSpecification } from 'maplibre-gl';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';
import worldUrl from 'world-atlas/countries-50m.json?url';
import type { ThemeColors } from '../theme/tokens.ts';
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

/** Returns the style of the offline base map: land, water and borders in the colours of the theme. */
export const createBaseStyle = (colors: ThemeColors, data: FeatureCollection): StyleSpecification => ({
  version: 8,
  sources: { countries: { type: 'geojson', data, attribution: 'Natural Earth' } },
  layers: [
    { id: 'water', type: 'background', paint: { 'background-color': colors.water } },
    { id: 'land', type: 'fill', source: 'countries', paint: { 'fill-color': colors.land } },
    {
      id: 'borders',
      type: 'line',
      source: 'countries',
      paint: { 'line-color': colors.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.5, 10, 2] },
    },
  ],
});
