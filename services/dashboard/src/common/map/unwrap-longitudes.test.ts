import { describe, expect, it } from '@jest/globals';
import type { FeatureCollection, Position } from 'geojson';
import { unwrapGeometry, unwrapLongitudes } from './unwrap-longitudes.ts';

const polygonOf = (ring: Position[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: [{ type: 'Feature', properties: {}, geometry: { type: 'Polygon', coordinates: [ring] } }],
});
const unwrap = (ring: Position[]) => unwrapLongitudes(polygonOf(ring));

describe('unwrapLongitudes', () => {
  it('continues a border beyond 180 degrees in both directions', () => {
    const east = [
      [170, 60],
      [-170, 60],
      [-170, 70],
      [170, 60],
    ];
    expect(unwrap(east)).toEqual(
      polygonOf([
        [170, 60],
        [190, 60],
        [190, 70],
        [170, 60],
      ]),
    );
    const west = [
      [-170, 60],
      [170, 60],
      [170, 70],
      [-170, 60],
    ];
    expect(unwrap(west)).toEqual(
      polygonOf([
        [-170, 60],
        [-190, 60],
        [-190, 70],
        [-170, 60],
      ]),
    );
  });

  it('leaves a border as it is that does not cross the antimeridian', () => {
    const ring = [
      [-10, 0],
      [10, 0],
      [10, 10],
      [-10, 0],
    ];
    expect(unwrap(ring)).toEqual(polygonOf(ring));
  });

  it('closes a coast around a pole along the pole', () => {
    const coast = [
      [-120, -70],
      [0, -70],
      [120, -70],
      [-120, -70],
    ];
    const closed = [
      [-120, -70],
      [0, -70],
      [120, -70],
      [240, -70],
      [240, -90],
      [-120, -90],
      [-120, -70],
    ];
    expect(unwrap(coast)).toEqual(polygonOf(closed));
  });

  it('continues lines, which it does not close at a pole', () => {
    const lines = [
      [
        [170, 60],
        [-170, 61],
      ],
      [
        [-120, -70],
        [0, -70],
        [120, -70],
        [-120, -70],
      ],
    ];
    expect(unwrapGeometry({ type: 'MultiLineString', coordinates: lines })).toEqual({
      type: 'MultiLineString',
      coordinates: [
        [
          [170, 60],
          [190, 61],
        ],
        [
          [-120, -70],
          [0, -70],
          [120, -70],
          [240, -70],
        ],
      ],
    });
  });
});
