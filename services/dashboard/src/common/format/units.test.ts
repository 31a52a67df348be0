import { describe, expect, it } from '@jest/globals';
import { formatDistance, formatSpeed, formatVolume, type Units } from './units.ts';

const metric: Units = { distance: 'km', speed: 'kmh', volume: 'l' };
const imperial: Units = { distance: 'mi', speed: 'mph', volume: 'gal' };

describe('measured values', () => {
  it('are visible in metric units', () => {
    expect([formatSpeed(52.4, metric), formatDistance(20_412.4, metric, 'en'), formatVolume(84.2, metric)]).toEqual([
      '52 km/h',
      '20,412 km',
      '84 l',
    ]);
  });

  it('are converted to the units of the user', () => {
    expect([formatSpeed(100, imperial), formatDistance(100, imperial, 'en'), formatVolume(100, imperial)]).toEqual([
      '62 mph',
      '62 mi',
      '26 gal',
    ]);
    expect(formatSpeed(100, { ...metric, speed: 'kn' })).toBe('54 kn');
  });

  it('keep one digit below ten', () => {
    expect(formatDistance(3.26, metric, 'es')).toBe('3,3 km');
  });
});
