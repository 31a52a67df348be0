import { describe, expect, it } from '@jest/globals';
import type { Shape } from '../map/shapes.ts';
import { boundsOfGeofences, emptyForm, type Geofence, toBody, toChange, toFeatures, toForm, toShape } from './model.ts';

const corridor: Shape = {
  kind: 'corridor',
  positions: [
    [10, 76],
    [10.1, 76.1],
  ],
  radiusM: null,
  widthM: 60,
};

const yard = {
  id: 7,
  version: 3,
  name: 'Yard',
  type: 'circle',
  coordinates: [[10, 76]],
  radius_m: 250,
  width_m: null,
  color: '#0B7A75',
  description: null,
  notify_on: ['enter', 'dwell'],
  dwell_seconds: 900,
  speed_limit_kmh: 20,
  schedule: null,
  vehicles: [4],
  groups: [],
  push_to_terminal: true,
  bbox: [9.9, 75.9, 10.1, 76.1],
} as unknown as Geofence;

describe('the form of a geofence', () => {
  it('sends nothing without a change', () => {
    const body = toBody(toForm(yard), toShape(yard));
    expect(toChange(body, toBody(toForm(yard), toShape(yard)))).toEqual({});
  });

  it('sends all fields of the shape when one of them changes', () => {
    const before = toBody(toForm(yard), toShape(yard));
    const after = toBody(toForm(yard), { ...toShape(yard), radiusM: 300 });
    expect(toChange(before, after)).toEqual({ type: 'circle', coordinates: [[10, 76]], radius_m: 300, width_m: null });
  });

  it('sends the dwell time in seconds, and none without the event', () => {
    const form = { ...toForm(yard), dwell_minutes: '20' };
    expect(toBody(form, null)['dwell_seconds']).toBe(1_200);
    expect(toBody({ ...form, notify_on: ['exit'] }, null)).toMatchObject({ notify_on: ['exit'], dwell_seconds: null });
  });

  it('sends empty texts as null and a text that is no number as it is, so that it is refused', () => {
    expect(toBody({ ...emptyForm, name: ' Port ', speed_limit_kmh: 'fast' }, corridor)).toMatchObject({
      name: 'Port',
      type: 'corridor',
      width_m: 60,
      radius_m: null,
      description: null,
      color: null,
      speed_limit_kmh: 'fast',
    });
  });

  it('has no shape before one was drawn', () => {
    expect(toBody(emptyForm, null)).not.toHaveProperty('coordinates');
  });
});

describe('the geofences on the map', () => {
  it('leave out the one that is edited, and keep the band of an edited corridor', () => {
    const { features } = toFeatures([yard, { ...yard, id: 8, name: 'Port' }], 7, corridor);
    expect(features.map(({ properties }) => properties?.['name'] ?? properties?.['isBand'])).toEqual(['Port', true]);
    expect(features[1]?.properties?.['width0']).toBeGreaterThan(0);
  });

  it('have common bounds', () => {
    const other = { bbox: [9, 76, 9.5, 77] };
    expect(boundsOfGeofences([yard, other])).toEqual([75.9, 9, 77, 10.1]);
    expect(boundsOfGeofences([])).toBeNull();
  });
});
