import { describe, expect, it } from '@jest/globals';
import { describeArrival, toEndReason, withLocation } from './share-state.ts';
import type { SharedView } from './shared-view.ts';

const nowMs = Date.parse('2026-01-22T14:00:00Z');
const location = { latitude: 9.93, longitude: 76.26, speed: 40, course: 90, timestamp: nowMs };
const view = {
  state: 'moving',
  location,
  track: [[9.93, 76.26, nowMs]],
  destination: { latitude: 10, longitude: 76.3, name: 'Harbour' },
  eta: '2026-01-22T14:30:00Z',
  expires_at: '2026-01-22T18:00:00Z',
} as unknown as SharedView;

describe('a shared view', () => {
  it('moves to a newer position and extends its track', () => {
    const newer = { ...location, latitude: 9.94, timestamp: nowMs + 1_000 };
    expect(withLocation(view, newer)).toMatchObject({
      location: newer,
      track: [
        [9.93, 76.26, nowMs],
        [9.94, 76.26, nowMs + 1_000],
      ],
    });
  });

  it('ignores an older position, and adds the same one once', () => {
    expect(withLocation(view, { ...location, timestamp: nowMs - 1 })).toBe(view);
    expect(withLocation(view, location).track).toHaveLength(1);
  });

  it('ended by its time, or was revoked before', () => {
    expect(toEndReason(view, nowMs)).toBe('revoked');
    expect(toEndReason(view, Date.parse(view.expires_at))).toBe('expired');
  });
});

describe('the arrival', () => {
  const arrival = { eta: '2026-01-22T14:20:00Z', distance_km: 9.3 };

  it('is the newest estimate of the server', () => {
    const opened = { kind: 'expected', timeMs: Date.parse(view.eta ?? ''), distanceKm: null };
    expect(describeArrival({ view, arrival: null }, nowMs)).toEqual(opened);
    const newest = { kind: 'expected', timeMs: Date.parse(arrival.eta), distanceKm: 9.3 };
    expect(describeArrival({ view, arrival }, nowMs)).toEqual(newest);
  });

  it('is never in the past', () => {
    const afterMs = Date.parse('2026-01-22T15:00:00Z');
    expect(describeArrival({ view, arrival }, afterMs)).toMatchObject({ kind: 'expected', timeMs: afterMs });
  });

  it('is reached near the destination, and unknown while the vehicle is offline', () => {
    expect(describeArrival({ view, arrival: { ...arrival, distance_km: 0 } }, nowMs)).toEqual({ kind: 'arrived' });
    expect(describeArrival({ view: { ...view, state: 'offline' }, arrival }, nowMs)).toEqual({ kind: 'offline' });
  });

  it('is not displayed without a destination', () => {
    expect(describeArrival({ view: { ...view, destination: null, eta: null }, arrival: null }, nowMs)).toBeNull();
  });
});
