import { AppError } from '@fleet/service-kit';
import { describe, expect, it } from '@jest/globals';
import { parseHeartbeat, parsePosition, parseTime, toVendorError } from './rules.ts';

const nowMs = Date.UTC(2026, 0, 31, 8, 15, 30);
const item = { deviceImei: '868120303960832', lat: 22.577, lng: 113.916, gpsTime: '2026-01-31 08:15:00' };

describe('readTime', () => {
  it.each([
    ['2026-01-31 08:15:30', nowMs],
    ['2026-01-31T08:15:30Z', nowMs],
    ['2026-01-31T13:45:30+05:30', nowMs],
    [nowMs, nowMs],
    [String(nowMs), nowMs],
    ['2026-02-30 08:15:30', null],
    ['2026-13-01 08:15:30', null],
    ['31.01.2026', null],
    [1.5, null],
    [true, null],
    ['', null],
  ])('parses %j', (value, ms) => {
    expect(parseTime(value)).toBe(ms);
  });
});

describe('readPosition', () => {
  it('reads vendor and plain field names, and converts units', () => {
    const vendor = { ...item, gpsSpeed: 42, direction: 359.8, acc: 1, mileage: 12_500, satelliteNum: 9, gpsMode: 1 };
    expect(parsePosition(vendor, nowMs)).toMatchObject({
      imei: '868120303960832',
      value: { speed: 42, course: 0, ignition: true, odometerKm: 12.5, satellites: 9, backfilled: true },
    });
    const plain = { imei: '013800138000', latitude: -1.5, longitude: 2, timestamp: nowMs, speed: 3, course: 90 };
    expect(parsePosition(plain, nowMs)).toMatchObject({
      imei: '13800138000',
      recordedImei: '013800138000',
      value: { latitude: -1.5, speed: 3, course: 90, ignition: null, timestamp: nowMs, backfilled: false },
    });
  });

  it.each([
    ['no object', 5],
    ['a list', []],
    ['no device', { ...item, deviceImei: undefined }],
    ['a device that is not a number', { ...item, deviceImei: 'tracker' }],
    ['a device number of zeros', { ...item, deviceImei: '000000000000' }],
    ['no latitude', { ...item, lat: undefined }],
    ['a latitude as text', { ...item, lat: '22.5' }],
    ['0,0', { ...item, lat: 0, lng: 0 }],
    ['a latitude of 91', { ...item, lat: 91 }],
    ['a longitude of -181', { ...item, lng: -181 }],
    ['no time', { ...item, gpsTime: undefined }],
    ['an invalid time', { ...item, gpsTime: 'now' }],
    ['a time more than ten minutes ahead', { ...item, gpsTime: nowMs + 600_001 }],
    ['acc 2', { ...item, acc: 2 }],
    ['a speed as text', { ...item, gpsSpeed: 'fast' }],
  ])('returns a reason for %s', (_case, bad) => {
    expect(typeof parsePosition(bad, nowMs)).toBe('string');
  });

  it('accepts a time up to ten minutes ahead', () => {
    expect(parsePosition({ ...item, gpsTime: nowMs + 600_000 }, nowMs)).toMatchObject({ value: { latitude: 22.577 } });
  });
});

describe('readHeartbeat', () => {
  it('returns the vendor values, with the current time as default', () => {
    expect(parseHeartbeat({ deviceImei: '868120303960832', powerLevel: 80, voltage: 12.1, other: 1 }, nowMs)).toEqual({
      imei: '868120303960832',
      recordedImei: '868120303960832',
      value: { timestamp: nowMs, values: { powerLevel: 80, voltage: 12.1 } },
    });
    expect(parseHeartbeat({ deviceImei: '868120303960832', powerLevel: 101 }, nowMs)).toBe(
      'powerLevel is out of range',
    );
    expect(parseHeartbeat({ deviceImei: '868120303960832', gateTime: 'x' }, nowMs)).toBe(
      'gateTime is not a valid time',
    );
  });
});

describe('vendorError', () => {
  it.each([
    ['token_missing', 1004],
    ['permission_denied', 1004],
    ['validation_failed', 1001],
    ['body_too_large', 1001],
    ['rate_limited', 1006],
    ['unavailable', 503],
  ] as const)('maps %s to the code %i', (code, vendorCode) => {
    const error = new AppError(code, 'No.');
    expect(toVendorError(error, 'r1')).toEqual({
      code: vendorCode,
      message: 'No.',
      status: error.status,
      error: 'No.',
      request_id: 'r1',
    });
  });
});
