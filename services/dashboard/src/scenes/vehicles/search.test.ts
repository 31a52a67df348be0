import { describe, expect, it } from '@jest/globals';
import { parseColumns, parseVehiclesSearch } from './search.ts';

describe('the address of the vehicle table', () => {
  it('keeps a valid view', () => {
    const view = { q: 'kl07', state: 'idle', group: 3, driver: 4, sort: '-lastFix', columns: 'state.number' };
    expect(parseVehiclesSearch(view)).toEqual(view);
  });

  it('leaves out values that are not valid', () => {
    expect(
      parseVehiclesSearch({ q: '', state: 'flying', group: 'x', driver: -1, sort: 'price', columns: 'a.b' }),
    ).toEqual({});
  });

  it('has the columns in the order of the table', () => {
    expect(parseColumns('number.state.price')).toEqual(['state', 'number']);
  });
});
