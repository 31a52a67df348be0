import { describe, expect, it } from '@jest/globals';
import { dayAt, defaultTypes, readRecordDate, requireKnownTypes, windowOfDay } from './rules.ts';
import { typeDefinitions } from './type-definitions.ts';
import { textsOf } from './type-texts.ts';
import { languages, translations } from './type-translations.ts';
import { categories, findTypeOfSource } from './types.ts';

const namesOf = (prefix: string, numbers: readonly number[]) =>
  numbers.map((number) => findTypeOfSource(`${prefix}:${number}`)?.type);
const upTo = (last: number, first = 0) => Array.from({ length: last - first + 1 }, (_unused, i) => first + i);

describe('notification catalogue (docs/reference/notifications.md)', () => {
  it('contains every bit of the alarm word', () => {
    expect(namesOf('alarm', upTo(31))).toEqual(
      [
        'sos overspeed fatigue_driving dangerous_driving gnss_fault gnss_antenna_disconnected gnss_antenna_short',
        'power_low power_cut display_fault tts_fault camera_fault ic_card_fault overspeed_warning fatigue_warning',
        'illegal_driving tyre_pressure right_turn_blind_spot driving_overtime parking_overtime geofence route',
        'route_segment_time route_deviation speed_sensor_fault fuel_abnormal vehicle_theft illegal_ignition',
        'illegal_movement collision rollover illegal_door_open',
      ]
        .join(' ')
        .split(' '),
    );
  });

  it('contains the codes of cameras and of the other items', () => {
    expect(namesOf('video', upTo(6))).toEqual([
      'video_signal_loss',
      'video_obstructed',
      'storage_fault',
      'video_device_fault',
      'passenger_overload',
      'abnormal_driving',
      'alarm_storage_full',
    ]);
    const adas = [1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19];
    const dsm = [1, 2, 3, 4, 5, 6, 8, 10, 11, 12, 13, 16, 17];
    expect(namesOf('adas', adas)).not.toContain(undefined);
    expect(namesOf('dsm', dsm)).not.toContain(undefined);
    const codes = typeDefinitions.flatMap(({ sources }) => sources);
    expect(codes.filter((source) => source.startsWith('adas:'))).toHaveLength(adas.length);
    expect(codes.filter((source) => source.startsWith('dsm:'))).toHaveLength(dsm.length);
    expect(namesOf('dsm', [7, 9])).toEqual([undefined, undefined]);
    expect(namesOf('bsd', [1, 2, 3])).toEqual(['bsd_rear', 'bsd_left_rear', 'bsd_right_rear']);
    expect(namesOf('driving', [1, 2, 3])).toEqual(['harsh_acceleration', 'harsh_braking', 'harsh_cornering']);
    expect(findTypeOfSource('driving')?.type).toBe('abnormal_driving');
    expect(findTypeOfSource('tpms')?.type).toBe('tyre_pressure');
  });

  it('contains each type once, with texts and a known category', () => {
    const types = typeDefinitions.map(({ type }) => type);
    expect(new Set(types).size).toBe(types.length);
    const sources = typeDefinitions.flatMap((kind) => kind.sources).filter((source) => source !== 'platform');
    expect(new Set(sources).size).toBe(sources.length);
    for (const kind of typeDefinitions) {
      expect(kind.type).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(kind.title).not.toBe('');
      expect(kind.description).toMatch(/\.$/);
      expect(categories).toContain(kind.category);
      expect(kind.sources.length).toBeGreaterThan(0);
    }
  });

  it('enables critical notifications and warnings by default', () => {
    const critical = typeDefinitions.filter(({ severity }) => severity === 'critical').map(({ type }) => type);
    expect(critical.toSorted()).toEqual(
      'collision fuel_drop illegal_ignition illegal_movement power_cut rollover sos towing vehicle_theft'.split(' '),
    );
    expect(defaultTypes).toEqual(expect.arrayContaining(['sos', 'overspeed', 'geofence', 'device_offline']));
    for (const type of ['ignition_on', 'ignition_off', 'device_online', 'media_captured', 'driver_change'])
      expect(defaultTypes).not.toContain(type);
    const info = typeDefinitions.filter(({ severity }) => severity === 'info').map(({ type }) => type);
    // Ignition, online, upload, capture, driver and snapshot types, and unknown alarms.
    expect(info.toSorted()).toEqual(
      'adas_snapshot device_online driver_change dsm_driver_change dsm_snapshot ignition_off ignition_on'
        .concat(' media_captured unknown_alarm video_upload_completed video_upload_failed')
        .split(' '),
    );
    expect(defaultTypes).toHaveLength(typeDefinitions.length - info.length);
  });

  it('translates exactly the existing types', () => {
    expect(Object.keys(translations).toSorted()).toEqual(typeDefinitions.map(({ type }) => type).toSorted());
  });

  it.each(languages)('contains every text in %s', (language) => {
    for (const kind of typeDefinitions) {
      const { title, description } = textsOf(kind, language);
      expect(title).not.toBe('');
      expect(description).toMatch(/[.。]$/);
      expect(description).not.toBe(kind.description);
    }
  });

  it('falls back to English', () => {
    const [kind] = typeDefinitions;
    if (kind === undefined) throw new Error('the catalogue is empty');
    for (const language of ['en', 'xx', '', '__proto__', 'constructor'])
      expect(textsOf(kind, language)).toEqual({ title: kind.title, description: kind.description });
  });

  it('names the unknown types of a list', () => {
    expect(() => requireKnownTypes(['sos', 'geofence'], '/types')).not.toThrow();
    const at = (path: string): unknown => expect.objectContaining({ path });
    const fault = { code: 'validation_failed', details: [at('/types/1'), at('/types/2')] };
    expect(() => requireKnownTypes(['sos', 'SOS', '__proto__'], '/types')).toThrow(expect.objectContaining(fault));
  });
});

describe('calendar days', () => {
  it.each([
    ['1/2/2026', { year: 2026, month: 2, day: 1 }],
    ['01/02/2026', { year: 2026, month: 2, day: 1 }],
    ['29/2/2028', { year: 2028, month: 2, day: 29 }],
  ])('parses %s', (text, day) => expect(readRecordDate(text)).toEqual(day));

  it.each(['', '2026-02-01', '31/2/2026', '29/2/2026', '0/1/2026', '1/13/2026', '1/0/2026', '1/1/26', '1/1/0026'])(
    'rejects "%s"',
    (text) => expect(() => readRecordDate(text)).toThrow(expect.objectContaining({ code: 'bad_date' })),
  );

  it.each([
    ['Asia/Kolkata', '1/2/2026', '2026-01-31T18:30:00.000Z', 24],
    ['UTC', '1/2/2026', '2026-02-01T00:00:00.000Z', 24],
    ['America/New_York', '8/3/2026', '2026-03-08T05:00:00.000Z', 23],
    ['America/New_York', '1/11/2026', '2026-11-01T04:00:00.000Z', 25],
    // Zones that skip the hour after midnight, or repeat the hour before it.
    ['America/Asuncion', '2/10/2022', '2022-10-02T04:00:00.000Z', 23],
    ['America/Asuncion', '26/3/2023', '2023-03-26T04:00:00.000Z', 24],
    ['America/Asuncion', '25/3/2023', '2023-03-25T03:00:00.000Z', 25],
    ['Pacific/Kiritimati', '1/1/2026', '2025-12-31T10:00:00.000Z', 24],
  ])('returns for %s %s a day that begins at %s and has %d hours', (zone, date, start, hours) => {
    const { fromMs, toMs } = windowOfDay(readRecordDate(date), zone);
    expect(new Date(fromMs).toISOString()).toBe(start);
    expect((toMs - fromMs) / 3_600_000).toBe(hours);
    expect(dayAt(fromMs, zone)).toEqual(readRecordDate(date));
    expect(dayAt(toMs - 1, zone)).toEqual(readRecordDate(date));
    expect(dayAt(toMs, zone)).not.toEqual(readRecordDate(date));
  });
});
