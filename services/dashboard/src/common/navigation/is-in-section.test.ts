import { describe, expect, it } from '@jest/globals';
import { isInSection } from './is-in-section.ts';

describe('isInSection', () => {
  const sections = ['/geofences', '/routes'];

  it.each(['/geofences', '/geofences/7', '/routes', '/routes/12'])('finds %s in its section', (path) => {
    expect(isInSection(path, sections)).toBe(true);
  });

  it.each(['/', '/map', '/routes-old', '/vehicles/routes'])('finds %s in no section', (path) => {
    expect(isInSection(path, sections)).toBe(false);
  });
});
