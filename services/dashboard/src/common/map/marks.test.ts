import { describe, expect, it } from '@jest/globals';
import { FleetColumns } from '../live/fleet-columns.ts';
import { flag } from '../live/protocol.ts';
import { computeDistances } from './distance-field.ts';
import { MarkBuffer } from './mark-buffer.ts';
import { clusterKind, markFloats } from './mark-layout.ts';
import { distanceM, toMercatorX, toMercatorY } from './mercator.ts';

const emphasis = { selectedSlot: undefined, isFollowing: false };
const drawAll = (count: number) => ({ drawn: new Uint8Array(count).fill(1), clusters: new Float64Array(0) });

function createColumns(...longitudes: readonly number[]): FleetColumns {
  const columns = new FleetColumns();
  longitudes.forEach((longitude, slot) => {
    columns.reserve(slot);
    columns.longitude[slot] = longitude;
    columns.flags[slot] = flag.isPresent | flag.hasPosition | flag.isValid;
  });
  return columns;
}

const markAt = (buffer: MarkBuffer, index: number): number[] => [
  ...buffer.floats.subarray(index * markFloats, (index + 1) * markFloats),
];

describe('the distances to the edge of a shape', () => {
  it('are positive inside, negative outside and grow with the distance', () => {
    const size = 9;
    const square = Float64Array.from({ length: size * size }, (_, at) => {
      const [x, y] = [at % size, Math.floor(at / size)];
      return x >= 2 && x <= 6 && y >= 2 && y <= 6 ? 1 : 0;
    });
    const distances = computeDistances(square, size);
    const at = (x: number, y: number): number => Math.round((distances[y * size + x] ?? 0) * 100) / 100;
    expect([at(4, 4), at(3, 4), at(2, 4)]).toEqual([3, 2, 1]);
    expect([at(1, 4), at(0, 4), at(0, 0)]).toEqual([-1, -2, -2.83]);
  });
});

describe('the marks for the graphics card', () => {
  it('glide from where they are drawn to the new position', () => {
    const columns = createColumns(0);
    const buffer = new MarkBuffer();
    buffer.writeAll(columns, drawAll(1), emphasis);
    const move = (longitude: number, timeS: number): number[] => {
      columns.longitude[0] = longitude;
      buffer.moveVehicles([0], columns, drawAll(1), emphasis, { timeS, glideS: 1 });
      return markAt(buffer, 0);
    };
    const first = move(36, 10);
    expect([first[0], first[2], first[4]].map((value) => Number(value?.toFixed(3)))).toEqual([0, 0.1, 10]);
    // Half of the way is done.
    const second = move(72, 10.5);
    expect([second[0], second[2]].map((value) => Number(value?.toFixed(3)))).toEqual([0.05, 0.2]);
  });

  it('are drawn if they are in the window, on either side of the date line', () => {
    const columns = createColumns(-179, 0, 178, 179);
    columns.flags[3] = flag.isPresent;
    const buffer = new MarkBuffer();
    buffer.writeAll(columns, drawAll(4), emphasis);
    const window = { centerX: toMercatorX(179.5) - 0.5, centerY: 0, halfWidth: 0.01, halfHeight: 0.01 };
    const readLongitudes = (): number[] => {
      const visible = buffer.readVisible(window);
      return Array.from({ length: visible.length / markFloats }, (_, at) =>
        Math.round((visible[at * markFloats + 2] ?? 0) * 360),
      );
    };
    expect(readLongitudes()).toEqual([-179, 178]);
    // It leaves the window, and glides from there.
    columns.longitude[0] = -90;
    buffer.moveVehicles([0], columns, drawAll(4), emphasis, { timeS: 10, glideS: 1 });
    expect(readLongitudes()).toEqual([-90, 178]);
    columns.latitude[2] = 60;
    buffer.writeAll(columns, drawAll(4), emphasis);
    expect(buffer.readVisible({ ...window, halfWidth: 0.001 })).toHaveLength(0);
  });

  it('have the longest way of those that are visible', () => {
    const columns = createColumns(0, 10, 20);
    const marks = drawAll(3);
    const buffer = new MarkBuffer();
    buffer.writeAll(columns, marks, emphasis);
    const move = (slots: readonly number[], ...longitudes: readonly number[]): number | undefined => {
      longitudes.forEach((longitude, slot) => {
        columns.longitude[slot] = longitude;
      });
      return buffer.moveVehicles(slots, columns, marks, emphasis, { timeS: 10, glideS: 0 });
    };
    expect(move([0, 1], 3.6, 17.2, 20)).toBeCloseTo(0.02, 6);
    expect(move([0, 1], 3.6, 17.2, 20)).toBe(0);
    marks.drawn.fill(0);
    expect(move([0, 1, 2], 40, 50, 60)).toBeUndefined();
  });

  it('are hidden without a position and while a cluster contains them, but not while they are selected', () => {
    const columns = createColumns(0, 10, 20);
    columns.flags[1] = flag.isPresent;
    const buffer = new MarkBuffer();
    const marks = { ...drawAll(3), drawn: new Uint8Array([1, 1, 0]) };
    buffer.writeAll(columns, marks, emphasis);
    const kinds = (): (number | undefined)[] => [0, 1, 2].map((index) => markAt(buffer, index)[7]);
    expect(kinds()).toEqual([0, -1, -1]);
    buffer.writeAll(columns, marks, { selectedSlot: 2, isFollowing: false });
    expect(kinds()).toEqual([0, -1, 0]);
  });

  it('contain the clusters with the parts of their states', () => {
    const buffer = new MarkBuffer();
    const clusters = Float64Array.from([0, 0, 200, 50, 0, 100, 50, 3]);
    buffer.writeAll(createColumns(), { drawn: new Uint8Array(0), clusters }, emphasis);
    expect(buffer.length).toBe(1);
    expect(markAt(buffer, 0).slice(7)).toEqual([clusterKind, 1, 46, 0.25, 0, 0.5, 0.25]);
  });

  it('keep their distances when the origin moves', () => {
    const columns = createColumns(100, 100.0001);
    const buffer = new MarkBuffer();
    buffer.moveOrigin([toMercatorX(100), 0.5], columns, drawAll(2), emphasis);
    buffer.writeAll(columns, drawAll(2), emphasis);
    const distance = (markAt(buffer, 1)[2] ?? 0) - (markAt(buffer, 0)[2] ?? 0);
    expect(distance * 360).toBeCloseTo(0.0001, 8);
  });
});

describe('positions on the map', () => {
  it('follow the projection of web maps', () => {
    expect([toMercatorX(-180), toMercatorX(90), toMercatorY(0)]).toEqual([0, 0.75, 0.5]);
    expect(toMercatorY(85.051129)).toBeCloseTo(0, 6);
    expect(toMercatorY(-90)).toBeCloseTo(1, 6);
  });

  it('have distances along great circles', () => {
    expect(distanceM([0, 0], [0, 180])).toBeCloseTo(20_015_115, -1);
    expect(distanceM([10, 76], [10, 76])).toBe(0);
  });
});
