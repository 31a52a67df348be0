import { describe, expect, it } from '@jest/globals';
import { addEntry, type CaptureEntry, maxEntries, stateOf } from './capture-entry.ts';

const entry = (key: string, refusal: string | null = null): CaptureEntry => ({
  key,
  vehicleId: 1,
  channelId: 1,
  kind: 'photo',
  seconds: null,
  requestedAtMs: 0,
  captureId: refusal === null ? key : null,
  refusal,
});

describe('the pictures and clips of the activity tray', () => {
  it('stand in front when they are new, and are limited in number', () => {
    const entries = Array.from({ length: maxEntries + 2 }, (_, at) => entry(String(at))).reduce(addEntry, []);
    expect(entries).toHaveLength(maxEntries);
    expect(entries[0]?.key).toBe(String(maxEntries + 1));
  });

  it('replace their failure when they are requested again', () => {
    const entries = addEntry([entry('2'), entry('1', 'The device is not connected.')], entry('1'));
    expect(entries.map(({ key, refusal }) => [key, refusal])).toEqual([
      ['1', null],
      ['2', null],
    ]);
  });

  it('are being made until the record says otherwise', () => {
    expect(stateOf(entry('1'), undefined)).toBe('pending');
    expect(stateOf(entry('1'), { status: 'pending' })).toBe('pending');
    expect(stateOf(entry('1'), { status: 'completed' })).toBe('completed');
  });

  it('have failed when the server refused them, when they expired, and when their record is gone', () => {
    expect(stateOf(entry('1', 'The device is not connected.'), undefined)).toBe('failed');
    expect(stateOf(entry('1'), { status: 'expired' })).toBe('failed');
    expect(stateOf(entry('1'), null)).toBe('failed');
  });
});
