import { describe, expect, it } from '@jest/globals';
import type { Position, Shape } from '../map/shapes.ts';
import {
  alignStops,
  emptyForm,
  emptyStop,
  type Route,
  type Stop,
  toBody,
  toChange,
  toFeatures,
  toForm,
  toShape,
} from './model.ts';

const stop = (name: string): Stop => ({ ...emptyStop, name });
const [a, b, c]: [Position, Position, Position] = [
  [10, 76],
  [10.1, 76.1],
  [10.2, 76.2],
];

describe('the stops of a route whose waypoints change on the map', () => {
  it('stay with their waypoints when one is moved', () => {
    expect(alignStops([a, b], [a, c], [stop('Port'), stop('Yard')]).map(({ name }) => name)).toEqual(['Port', 'Yard']);
  });

  it('stay with their waypoints when one is added between them', () => {
    const names = alignStops([a, c], [a, b, c], [stop('Port'), stop('Yard')]).map(({ name }) => name);
    expect(names).toEqual(['Port', '', 'Yard']);
  });

  it('stay with their waypoints when one is removed', () => {
    const stops = [stop('Port'), stop('Bridge'), stop('Yard')];
    expect(alignStops([a, b, c], [a, c], stops).map(({ name }) => name)).toEqual(['Port', 'Yard']);
  });
});

const line: Shape = { kind: 'corridor', positions: [a, b], radiusM: null, widthM: null };

const route = {
  id: 3,
  name: 'Harbour run',
  description: null,
  color: null,
  profile: 'truck',
  deviation_m: 150,
  notify_on: ['deviation'],
  speed_limit_kmh: 60,
  schedule: null,
  active: true,
  waypoints: [
    { lat: 10, lng: 76, name: 'Port', radius_m: 80, stop_seconds: 600 },
    { lat: 10.1, lng: 76.1, name: null, radius_m: 50, stop_seconds: null },
  ],
  path: [a, b],
} as unknown as Route;

describe('the form of a route', () => {
  it('sends nothing without a change', () => {
    const body = toBody(toForm(route), toShape(route));
    expect(toChange(body, toBody(toForm(route), toShape(route)))).toEqual({});
  });

  it('sends the stops with the positions of the map, in metres and seconds', () => {
    const form = { ...emptyForm, stops: [{ name: ' Port ', radius_m: '80', stop_minutes: '10' }, emptyStop] };
    expect(toBody(form, line)['waypoints']).toEqual([
      { lat: 10, lng: 76, name: 'Port', radius_m: 80, stop_seconds: 600 },
      { lat: 10.1, lng: 76.1, name: null, radius_m: 50, stop_seconds: null },
    ]);
  });

  it('sends an empty path so that the server draws it again', () => {
    const before = toBody(toForm(route), toShape(route));
    expect(toChange(before, toBody({ ...toForm(route), path: null }, toShape(route)))).toEqual({ path: null });
  });

  it('uses start and end of a route without waypoints', () => {
    expect(toShape({ ...route, waypoints: [], path: [[...a], [...c], [...b]] }).positions).toEqual([a, b]);
  });
});

describe('the routes on the map', () => {
  it('contain the path that is edited instead of the stored one', () => {
    const { features } = toFeatures([route, { ...route, id: 4 }], 3, [a, c], '#0B7A75');
    expect(features.map(({ properties }) => properties?.['id'])).toEqual([4, 3]);
    expect(features[1]?.geometry).toEqual({
      type: 'LineString',
      coordinates: [
        [76, 10],
        [76.2, 10.2],
      ],
    });
  });
});
