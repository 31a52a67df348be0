import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { distanceM } from './mercator.ts';
import {
  boundsOfShape,
  canRemovePosition,
  createShape,
  fromGeometry,
  insertPosition,
  lengthM,
  movePosition,
  type Position,
  readCircle,
  removePosition,
  replacePosition,
  type Shape,
  toCircleRing,
  toGeometry,
  toPixelsAtZoom0,
} from './shapes.ts';

const triangle: Shape = {
  kind: 'polygon',
  positions: [
    [10, 76],
    [10, 76.02],
    [10.02, 76],
  ],
  radiusM: null,
  widthM: null,
};
const corridor: Shape = {
  kind: 'corridor',
  positions: [
    [10, 76],
    [10, 76.02],
  ],
  radiusM: null,
  widthM: 80,
};
const anyPosition = fc.tuple(
  fc.double({ min: -70, max: 70, noNaN: true }),
  fc.double({ min: -179, max: 179, noNaN: true }),
);

describe('a shape on the map', () => {
  it('is the same after it was drawn and read', () => {
    for (const shape of [triangle, corridor])
      expect(fromGeometry(shape.kind, toGeometry(shape), shape.widthM)).toEqual(shape);
  });

  it('closes the ring of a polygon, longitude first', () => {
    expect(toGeometry(triangle).coordinates).toEqual([
      [
        [76, 10],
        [76.02, 10],
        [76, 10.02],
        [76, 10],
      ],
    ]);
  });

  it('has bounds that include the radius of a circle', () => {
    const circle: Shape = { kind: 'circle', positions: [[0, 20]], radiusM: 1_111.95, widthM: null };
    const [west, south, east, north] = boundsOfShape(circle) ?? [0, 0, 0, 0];
    expect([west, south, east, north].map((value) => Number(value.toFixed(4)))).toEqual([19.99, -0.01, 20.01, 0.01]);
  });
});

describe('a circle', () => {
  it('keeps its centre and its radius when its ring is read', () => {
    fc.assert(
      fc.property(anyPosition, fc.integer({ min: 30, max: 20_000 }), (centre, radiusM) => {
        const read = readCircle(toCircleRing(centre, radiusM));
        expect(distanceM(read.centre, centre)).toBeLessThan(1 + radiusM / 200);
        expect(Math.abs(read.radiusM - radiusM)).toBeLessThan(1 + radiusM / 100);
      }),
    );
  });

  it('has a radius within the limits of the API', () => {
    expect(readCircle(toCircleRing([10, 76], 3)).radiusM).toBe(20);
    expect(createShape('circle', [-90, -40, 90, 40]).radiusM).toBe(100_000);
  });
});

describe('a position', () => {
  it('moves by metres to the north and to the east', () => {
    fc.assert(
      fc.property(anyPosition, fc.integer({ min: 1, max: 500 }), (position, metres) => {
        expect(Math.abs(distanceM(position, movePosition(position, metres, 0)) - metres)).toBeLessThan(0.3);
        expect(Math.abs(distanceM(position, movePosition(position, 0, -metres)) - metres)).toBeLessThan(0.3);
      }),
    );
  });

  it('continues on the other side of the date line', () => {
    expect(movePosition([0, 179.9999], 0, 100)[1]).toBeCloseTo(-179.9992, 4);
  });

  it('is replaced, added halfway to the next one, and removed', () => {
    expect(replacePosition(triangle, 1, [10.5, 76.5]).positions[1]).toEqual([10.5, 76.5]);
    const larger = insertPosition(triangle, 2);
    expect(larger.positions[3]).toEqual([10.01, 76]);
    expect(removePosition(larger, 3)).toEqual(triangle);
  });

  it('continues a line beyond its end', () => {
    expect(insertPosition(corridor, 1).positions[2]).toEqual([10, 76.03]);
  });

  it('is removed only while enough positions remain', () => {
    expect(canRemovePosition(triangle)).toBe(false);
    expect(canRemovePosition(insertPosition(triangle, 0))).toBe(true);
    expect(canRemovePosition(corridor)).toBe(false);
  });
});

describe('a shape that is placed without a pointer', () => {
  it.each(['polygon', 'circle', 'corridor'] as const)('lies in the visible part of the map: %s', (kind) => {
    const bounds = [76, 10, 76.1, 10.1] as const;
    const [west, south, east, north] = boundsOfShape(createShape(kind, bounds)) ?? [0, 0, 0, 0];
    expect(west).toBeGreaterThan(bounds[0]);
    expect(south).toBeGreaterThan(bounds[1]);
    expect(east).toBeLessThan(bounds[2]);
    expect(north).toBeLessThan(bounds[3]);
  });
});

describe('lengths', () => {
  it('add up along a line', () => {
    const line: Position[] = [
      [0, 0],
      [0, 0.01],
      [0.01, 0.01],
    ];
    expect(Math.round(lengthM(line))).toBe(2_224);
    expect(lengthM(line.slice(0, 1))).toBe(0);
  });

  it('are pixels of the map at zoom 0', () => {
    expect(toPixelsAtZoom0(111_195 * 360, 0)).toBeCloseTo(512, 6);
    expect(toPixelsAtZoom0(1_000, 60)).toBeCloseTo(toPixelsAtZoom0(2_000, 0), 6);
  });
});
