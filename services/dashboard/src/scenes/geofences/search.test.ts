import { describe, expect, it } from '@jest/globals';
import { parseGeofencesSearch } from './search.ts';

describe('the address of the page', () => {
  it('keeps valid values only', () => {
    expect(parseGeofencesSearch({ q: 'Yard', at: '10,76,12.5', type: 'circle' })).toEqual({
      q: 'Yard',
      at: '10,76,12.5',
      type: 'circle',
    });
    expect(parseGeofencesSearch({ q: '', at: '100,76,12', type: 'square' })).toEqual({});
  });
});
