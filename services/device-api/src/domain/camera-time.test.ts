import { describe, expect, it } from '@jest/globals';
import {
  describeTimeError,
  formatCameraTime,
  formatTime,
  parseTimestamp,
  toCameraDigits,
  toCameraSpan,
} from './camera-time.ts';

const toTimestamp = (text: string): number => {
  const timestampMs = parseTimestamp(text);
  if (timestampMs === undefined) throw new Error(`${text} was rejected`);
  return timestampMs;
};

describe('parseTimestamp', () => {
  it.each([
    ['2026-08-01T10:00:00+08:00', '2026-08-01T02:00:00.000Z'],
    ['2026-08-01T02:00:00Z', '2026-08-01T02:00:00.000Z'],
    ['2026-08-01t02:00:00z', '2026-08-01T02:00:00.000Z'],
    ['2026-07-31T21:30:00-04:30', '2026-08-01T02:00:00.000Z'],
    ['2026-08-01T02:00:00-00:00', '2026-08-01T02:00:00.000Z'],
    ['2026-08-01T16:00:00+14:00', '2026-08-01T02:00:00.000Z'],
    ['2026-08-02T01:59:00+23:59', '2026-08-01T02:00:00.000Z'],
  ])('accepts any offset: %s', (text, utc) => {
    expect(new Date(toTimestamp(text)).toISOString()).toBe(utc);
  });

  it.each(['2026-08-01T02:00:00.9Z', '2026-08-01T02:00:00.999999999999Z', '2026-08-01T02:00:00.0Z'])(
    'drops fractions: %s',
    (text) => {
      expect(toTimestamp(text)).toBe(toTimestamp('2026-08-01T02:00:00Z'));
    },
  );

  it('knows leap days', () => {
    expect(parseTimestamp('2024-02-29T00:00:00Z')).toBeDefined();
    expect(parseTimestamp('2000-02-29T00:00:00Z')).toBeDefined();
    for (const day of [
      '2023-02-29',
      '2100-02-29',
      '2024-02-30',
      '2024-04-31',
      '2024-13-01',
      '2024-00-01',
      '2024-01-00',
    ])
      expect(parseTimestamp(`${day}T00:00:00Z`)).toBeUndefined();
  });

  it('converts a valid leap second to the second before it', () => {
    expect(toTimestamp('2016-12-31T23:59:60Z')).toBe(toTimestamp('2016-12-31T23:59:59Z'));
    expect(toTimestamp('2017-01-01T07:59:60.5+08:00')).toBe(toTimestamp('2016-12-31T23:59:59Z'));
    for (const text of [
      '2016-12-30T23:59:60Z',
      '2016-12-31T23:58:60Z',
      '2016-12-31T23:59:60+08:00',
      '2016-12-31T23:59:61Z',
    ])
      expect(parseTimestamp(text)).toBeUndefined();
  });

  it.each([
    '',
    '2026-08-01',
    '2026-08-01T10:00:00',
    '2026-08-01 10:00:00Z',
    '2026-08-01T10:00Z',
    '2026-08-01T24:00:00Z',
    '2026-08-01T10:60:00Z',
    '2026-08-01T10:00:00.Z',
    '2026-08-01T10:00:00,5Z',
    '2026-08-01T10:00:00+0800',
    '2026-08-01T10:00:00+08',
    '2026-08-01T10:00:00+24:00',
    '2026-08-01T10:00:00+08:60',
    '2026-08-01T10:00:00 08:00',
    '+002026-08-01T10:00:00Z',
    '26-08-01T10:00:00Z',
    '1785549600',
    '٢٠٢٦-08-01T10:00:00Z',
    '2026-08-01T10:00:00Z\n',
  ])('rejects %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
    expect(describeTimeError(text)).toBeDefined();
  });
});

describe('describeTimeError', () => {
  it('explains that a lost plus must be sent as %2B, and the format otherwise', () => {
    expect(describeTimeError('2026-08-01T10:00:00 08:00')).toContain('%2B');
    expect(describeTimeError('2026-08-01T10:00:00.25 08:00')).toContain('must be sent as %2B');
    expect(describeTimeError('yesterday')).toContain('must be an RFC 3339 date-time');
    expect(describeTimeError('2026-08-01T10:00:00+08:00')).toBeUndefined();
  });
});

describe('toCameraSpan', () => {
  it("is converted to the camera's clock", () => {
    const [start, end] = [toTimestamp('2026-08-01T02:00:00Z'), toTimestamp('2026-08-01T03:30:15Z')];
    expect(toCameraSpan(start, end, '+08:00')).toMatchObject({ startTime: '260801100000', endTime: '260801113015' });
    expect(toCameraSpan(start, end, '-03:30')).toMatchObject({ startTime: '260731223000', endTime: '260801000015' });
  });

  it("limits the years on the camera's clock, not on the caller's", () => {
    expect(toCameraDigits(toTimestamp('1999-12-31T16:00:00Z'), '+08:00', 'x')).toBe('000101000000');
    expect(() => toCameraDigits(toTimestamp('1999-12-31T15:59:59Z'), '+08:00', 'parameter start_time')).toThrow(
      "The parameter start_time must be in the years 2000 to 2099 on the camera's clock (UTC+08:00).",
    );
    expect(() => toCameraDigits(toTimestamp('2000-01-01T00:00:00Z'), '-00:30', 'x')).toThrow('2000 to 2099');
    expect(toCameraDigits(toTimestamp('2099-12-31T15:59:59Z'), '+08:00', 'x')).toBe('991231235959');
    expect(() => toCameraDigits(toTimestamp('2099-12-31T16:00:00Z'), '+08:00', 'x')).toThrow('2000 to 2099');
    expect(toCameraDigits(toTimestamp('2100-01-01T04:00:00Z'), '-05:00', 'x')).toBe('991231230000');
    expect(() => toCameraDigits(toTimestamp('0001-01-01T00:00:00Z'), '+08:00', 'x')).toThrow('2000 to 2099');
    expect(() => toCameraDigits(toTimestamp('9999-12-31T23:59:59Z'), '+08:00', 'x')).toThrow('2000 to 2099');
    expect(() => toCameraDigits(toTimestamp('0000-01-01T00:00:00Z'), '+08:00', 'x')).toThrow('2000 to 2099');
  });

  it('requires a start before the end, after fractions have been dropped', () => {
    const start = toTimestamp('2026-08-01T02:00:00.1Z');
    expect(() => toCameraSpan(start, toTimestamp('2026-08-01T02:00:00.9Z'), '+08:00')).toThrow(
      'The parameter start_time must be before end_time.',
    );
    expect(() => toCameraSpan(start, toTimestamp('2026-08-01T01:00:00Z'), '+08:00')).toThrow('before');
    expect(toCameraSpan(start, toTimestamp('2026-08-01T02:00:01Z'), '+08:00').endTime).toBe('260801100001');
  });
});

describe('times in responses', () => {
  it("are RFC 3339 in the camera's offset", () => {
    expect(formatTime(toTimestamp('2026-08-01T02:00:00Z'), '+05:45')).toBe('2026-08-01T07:45:00+05:45');
    expect(formatTime(toTimestamp('2026-08-01T02:00:00Z'), '-12:00')).toBe('2026-07-31T14:00:00-12:00');
    expect(formatTime(toTimestamp('2026-08-01T02:00:00Z'), '+00:00')).toBe('2026-08-01T02:00:00+00:00');
    expect(formatCameraTime('2026-08-01T10:00:00', '+08:00')).toBe('2026-08-01T10:00:00+08:00');
  });
});
