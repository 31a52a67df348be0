import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

const path = '/api/geofences';
const square = [
  [22.5, 114],
  [22.5, 114.1],
  [22.6, 114.1],
  [22.6, 114],
];
/** Returns a number of corners around a circle; `lineOf` returns points of a line. */
const ringOf = (corners: number): number[][] =>
  Array.from({ length: corners }, (_unused, at) => {
    const bearing = (2 * Math.PI * at) / corners;
    return [10 + Math.cos(bearing), 20 + Math.sin(bearing)];
  });
const lineOf = (points: number): number[][] => Array.from({ length: points }, (_unused, at) => [10, 20 + at / 1_000]);

describe('geofence request bodies', () => {
  it('trims the name and the description', async () => {
    const body = { name: ' North gate ', description: '\n by the river ', coordinates: square };
    expect((await owner.post(path, body)).data).toMatchObject({ name: 'North gate', description: 'by the river' });
  });

  it('accepts coordinates in either order', async () => {
    const given = square.map(([latitude, longitude]) => [longitude, latitude]);
    const made = await owner.post(path, { name: 'L', coordinate_order: 'lnglat', coordinates: given });
    expect(made).toMatchObject({ status: 201, data: { coordinates: square } });
    expect(made.data).not.toHaveProperty('coordinate_order');
    const wrong = await owner.post(path, { name: 'L', coordinates: given });
    expect(wrong).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(JSON.stringify(wrong.body)).toContain('[latitude, longitude]');
    const wrongToo = await owner.post(path, {
      name: 'L',
      coordinates: square.map(([a, b]) => [a, (b ?? 0) + 200]),
      coordinate_order: 'lnglat',
    });
    expect(JSON.stringify(wrongToo.body)).toContain('[longitude, latitude]');
  });

  it.each([
    ['no name', { coordinates: square }, '/name'],
    ['an empty name', { name: '', coordinates: square }, '/name'],
    ['a blank name', { name: ' \t ', coordinates: square }, '/name'],
    ['no coordinates', { name: 'X' }, '/coordinates'],
    ['two corners', { name: 'X', coordinates: square.slice(0, 2) }, '/coordinates'],
    ['a bow tie', { name: 'X', coordinates: [square[0], square[2], square[1], square[3]] }, '/coordinates'],
    [
      'no area',
      {
        name: 'X',
        coordinates: [
          [0, 0],
          [1, 1],
          [2, 2],
        ],
      },
      '/coordinates',
    ],
    [
      'no area, with decimals that have no exact double',
      {
        name: 'X',
        coordinates: [
          [10, 20],
          [10.01, 20.01],
          [10.02, 20.02],
        ],
      },
      '/coordinates',
    ],
    [
      'three numbers',
      {
        name: 'X',
        coordinates: [
          [0, 0, 0],
          [1, 1, 0],
          [0, 1, 0],
        ],
      },
      '/coordinates/0',
    ],
    [
      'text for a number',
      {
        name: 'X',
        coordinates: [
          ['0', 0],
          [1, 1],
          [0, 1],
        ],
      },
      '/coordinates/0/0',
    ],
    [
      'a circle with two centres',
      {
        name: 'X',
        type: 'circle',
        coordinates: [
          [0, 0],
          [1, 1],
        ],
        radius_m: 50,
      },
      '/coordinates',
    ],
    ['a circle without radius', { name: 'X', type: 'circle', coordinates: [[0, 0]] }, '/radius_m'],
    ['a radius too small', { name: 'X', type: 'circle', coordinates: [[0, 0]], radius_m: 19 }, '/radius_m'],
    ['a radius too large', { name: 'X', type: 'circle', coordinates: [[0, 0]], radius_m: 100_001 }, '/radius_m'],
    ['a polygon with a radius', { name: 'X', coordinates: square, radius_m: 50 }, '/radius_m'],
    ['a corridor with one point', { name: 'X', type: 'corridor', coordinates: [[0, 0]], width_m: 50 }, '/coordinates'],
    ['a corridor without width', { name: 'X', type: 'corridor', coordinates: square }, '/width_m'],
    [
      'a corridor without length',
      {
        name: 'X',
        type: 'corridor',
        coordinates: [
          [0, 0],
          [0, 0],
        ],
        width_m: 50,
      },
      '/coordinates',
    ],
    ['an unknown type', { name: 'X', type: 'blob', coordinates: square }, '/type'],
    ['an unknown event', { name: 'X', coordinates: square, notify_on: ['enter', 'fly'] }, '/notify_on/1'],
    ['dwell without seconds', { name: 'X', coordinates: square, notify_on: ['dwell'] }, '/dwell_seconds'],
    [
      'a dwell time that is too short',
      { name: 'X', coordinates: square, notify_on: ['dwell'], dwell_seconds: 59 },
      '/dwell_seconds',
    ],
    [
      'a schedule without a time zone',
      { name: 'X', coordinates: square, schedule: { days: [1], from: '08:00', to: '09:00' } },
      '/schedule/timezone',
    ],
    [
      'an unknown time zone',
      { name: 'X', coordinates: square, schedule: { timezone: 'Mars/Base', days: [1], from: '08:00', to: '09:00' } },
      '/schedule/timezone',
    ],
    [
      'an hour above 24',
      { name: 'X', coordinates: square, schedule: { timezone: 'UTC', days: [1], from: '25:00', to: '09:00' } },
      '/schedule/from',
    ],
    ['large attributes', { name: 'X', coordinates: square, attributes: { text: 'x'.repeat(9000) } }, '/attributes'],
  ])('rejects a geofence with %s', async (_name, body, at) => {
    const response = await owner.post(path, body);
    expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect((response.body as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(at);
  });

  it.each([
    ['circle', { coordinates: [[1, 1]], radius_m: 20 }],
    ['circle', { coordinates: [[1, 1]], radius_m: 100_000 }],
    ['circle', { coordinates: [[90, 180]], radius_m: 500 }],
    ['corridor', { coordinates: lineOf(2), width_m: 10 }],
    ['corridor', { coordinates: lineOf(500), width_m: 5_000 }],
    ['polygon', { coordinates: square, notify_on: ['dwell'], dwell_seconds: 60 }],
    ['polygon', { coordinates: square, notify_on: [], dwell_seconds: 86_400, speed_limit_kmh: 5 }],
    ['polygon', { coordinates: ringOf(500) }],
    ['polygon', { coordinates: [...ringOf(500), ...ringOf(500).slice(0, 1)] }],
    ['polygon', { coordinates: square, name: 'n'.repeat(100) }],
  ])('accepts a %s at its limits', async (type, body) => {
    const response = await owner.post(path, { name: 'L', type, ...body });
    expect({ status: response.status, body: response.body }).toMatchObject({ status: 201, body: { data: { type } } });
  });

  it.each([
    ['polygon', { coordinates: ringOf(501) }, '/coordinates'],
    ['polygon', { coordinates: [...ringOf(501), ...ringOf(501).slice(0, 1)] }, '/coordinates'],
    ['corridor', { coordinates: lineOf(501), width_m: 50 }, '/coordinates'],
    ['corridor', { coordinates: lineOf(2), width_m: 9 }, '/width_m'],
    ['corridor', { coordinates: lineOf(2), width_m: 5_001 }, '/width_m'],
    ['circle', { coordinates: [[1, 1]], radius_m: null }, '/radius_m'],
    ['circle', { coordinates: [[90.1, 1]], radius_m: 50 }, '/coordinates/0'],
    ['polygon', { coordinates: square, notify_on: ['dwell'], dwell_seconds: 86_401 }, '/dwell_seconds'],
    ['polygon', { coordinates: square, name: 'n'.repeat(101) }, '/name'],
    ['polygon', { coordinates: square, speed_limit_kmh: 4 }, '/speed_limit_kmh'],
    ['polygon', { coordinates: square, push_to_terminal: 'yes' }, '/push_to_terminal'],
    ['polygon', { coordinates: square, vehicles: ['1'] }, '/vehicles/0'],
    ['polygon', { coordinates: square, groups: [0] }, '/groups/0'],
    [
      'polygon',
      { coordinates: square, schedule: { timezone: 'UTC', days: [], from: '08:00', to: '09:00' } },
      '/schedule/days',
    ],
    [
      'polygon',
      { coordinates: square, schedule: { timezone: 'UTC', days: [8], from: '08:00', to: '09:00' } },
      '/schedule/days/0',
    ],
    ['polygon', { coordinates: square, coordinate_order: 'xy' }, '/coordinate_order'],
  ])('rejects a %s beyond its limits', async (type, body, at) => {
    const response = await owner.post(path, { name: 'L', type, ...body });
    expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect((response.body as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(at);
  });

  it('accepts a response as the body of an update', async () => {
    const schedule = { timezone: 'UTC', days: [1], from: '08:00', to: '24:00' };
    for (const body of [
      { coordinates: square, schedule, attributes: { a: 1 }, push_to_terminal: true },
      { type: 'circle', coordinates: [[1, 1]], radius_m: 50, notify_on: ['dwell'], dwell_seconds: 60 },
      { type: 'corridor', coordinates: lineOf(3), width_m: 50 },
    ]) {
      const { data } = await owner.post(path, { name: 'Back', ...body });
      const back = await owner.put(`${path}/${data.id}`, { ...data, color: '#123456' });
      expect(back.status).toBe(200);
      expect(back.data).toEqual({ ...data, color: '#123456', version: 2, updated_at: expect.any(String) });
    }
  });

  it('stores a schedule that passes midnight, and free-form attributes', async () => {
    const schedule = { timezone: 'Asia/Kolkata', days: [7, 1, 1], from: '22:00', to: '06:00' };
    const made = await owner.post(path, {
      name: 'N',
      coordinates: square,
      schedule,
      attributes: { 'a.b': [1, { $c: null }] },
    });
    expect(made).toMatchObject({
      status: 201,
      data: { schedule: { ...schedule, days: [1, 7] }, attributes: { 'a.b': [1, { $c: null }] } },
    });
    expect(await owner.put(`${path}/${made.data.id}`, { schedule: null })).toMatchObject({ data: { schedule: null } });
  });

  it('ignores read-only fields, and rejects them with X-Strict-Body', async () => {
    const body = { name: 'R', coordinates: square, area_m2: 1, vehicle: 7 };
    expect((await owner.post(path, body)).body).toMatchObject({ meta: { ignored_fields: ['/area_m2', '/vehicle'] } });
    expect(await owner.post(path, body, { 'x-strict-body': 'true' })).toMatchObject({
      status: 400,
      body: { code: 'unknown_field' },
    });
    expect(await owner.post(path, { data: { name: 'W', coordinates: square } })).toMatchObject({ status: 201 });
  });
});
