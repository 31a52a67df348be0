import { describe, expect, it } from '@jest/globals';
import { countStates, filterRows, toRows } from './model.ts';
import { parseMapSearch } from './search.ts';

const live = { latitude: 1, longitude: 2, speed: 52, course: 90, timestamp: 1, isValid: true };
const vehicle = (id: number, vehicleNo: string, state: string) => ({
  id,
  name: `Truck ${id}`,
  vehicle_no: vehicleNo,
  imei: null,
  state: state as never,
  location: null,
});
const vehicles = [
  vehicle(1, 'KL07CD1234', 'offline'),
  vehicle(2, 'KL07AB0001', 'stopped'),
  vehicle(3, 'DEMO3', 'idle'),
];

describe('the vehicles of the map', () => {
  it('have the state of their newest position', () => {
    const rows = toRows(vehicles, new Map([[1, { ...live, state: 'moving' as const }]]));
    expect(rows.map(({ id, state }) => [id, state])).toEqual([
      [1, 'moving'],
      [2, 'stopped'],
      [3, 'idle'],
    ]);
  });

  it('are sorted by state and then by number', () => {
    const rows = filterRows(toRows(vehicles, new Map()), {});
    expect(rows.map(({ id }) => id)).toEqual([3, 2, 1]);
  });

  it('are found by a part of the number or the name, without regard to case and spaces', () => {
    const rows = toRows(vehicles, new Map());
    expect(filterRows(rows, { query: 'kl07 cd' }).map(({ id }) => id)).toEqual([1]);
    expect(filterRows(rows, { query: 'truck2' }).map(({ id }) => id)).toEqual([2]);
    expect(filterRows(rows, { state: 'idle' }).map(({ id }) => id)).toEqual([3]);
  });

  it('are counted by state', () => {
    const counts = countStates(toRows(vehicles, new Map()));
    expect(counts).toEqual({ moving: 0, idle: 1, stopped: 1, offline: 1, never_connected: 0 });
  });
});

describe('the address of the map', () => {
  it('keeps valid values and drops the others', () => {
    expect(parseMapSearch({ vehicle: 7, state: 'idle', q: 12, follow: true })).toEqual({
      vehicle: 7,
      state: 'idle',
      q: '12',
      follow: true,
    });
    expect(parseMapSearch({ vehicle: -1, state: 'flying', q: '', follow: 'yes' })).toEqual({});
  });
});
