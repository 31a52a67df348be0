import { type AdditionalItem, additionalItemDefinitions, createAdditionalItem, editions } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { toNotification } from '../../domains/notifications/to-notification.ts';
import { findTypeDefinition, findTypeOfSource } from '../../domains/notifications/types.ts';
import { context, reportOf, type Sketch } from '../../testing/alarm-rule-harness.ts';
import { rules } from '../index.ts';
import type { Finding } from '../rule.ts';

/** Returns what all rules find in a vehicle's first report. */
const findingsOf = (sketch: Omit<Sketch, 'at'>): Finding[] =>
  rules.flatMap((rule) => [...rule.step(undefined, reportOf({ at: 0, ...sketch }), context).findings]);
const bytes = Array.from({ length: 256 }, (_unused, code) => code);
const bits = bytes.slice(0, 32);

const tag = { terminalId: '0000001', time: null, seq: 0, attachmentCount: 0, reserved: Buffer.alloc(1) };
const place = { speedKmh: 0, altitudeM: 0, latitudeDeg: 0, longitudeDeg: 0, time: null, vehicleStatus: 0 };
const head = { alarmId: 1, flag: 0 };
const aheadOf = { frontSpeedKmh: 0, frontDistance100ms: 0, deviationType: 0, signType: 0, signData: 0 };
const ofDriver = { fatigueLevel: 0, reserved: Buffer.alloc(4) };
const adas = (type: number): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.adasAlarm, { ...head, type, level: 1, ...aheadOf, ...place, tag });
const dsm = (type: number): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.dsmAlarm, { ...head, type, level: 1, ...ofDriver, ...place, tag });
const bsd = (type: number): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.bsdAlarm, { ...head, type, ...place, tag });

describe('every alarm of a terminal is one notification, listed or unknown', () => {
  it.each(editions.flatMap((edition) => bits.map((bit) => [edition, bit] as const)))(
    'alarm word of %s, bit %i',
    (edition, bit) => {
      const [finding, ...more] = findingsOf({ bits: [bit], edition });
      expect(more).toEqual([]);
      const isReserved = edition === '2019' ? bit === 31 : bit >= 15 && bit <= 17;
      const listed = findTypeOfSource(`alarm:${bit}`)?.type;
      expect(finding?.type).toBe(isReserved ? 'unknown_alarm' : listed);
      expect(finding?.attributes).toMatchObject(isReserved ? { bit } : {});
    },
  );

  it.each(bits)('item 0x14, bit %i', (bit) => {
    const extras = [createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: (1 << bit) >>> 0 })];
    const [finding, ...more] = findingsOf({ extras });
    expect(more).toEqual([]);
    expect(finding?.type).toBe(findTypeOfSource(`video:${bit}`)?.type ?? 'unknown_alarm');
    expect(finding?.attributes).toMatchObject(bit > 6 ? { item: '0x14', bit } : {});
  });

  it.each([
    ['adas', adas],
    ['dsm', dsm],
    ['bsd', bsd],
  ])('every code of %s, whatever its flag', (family, extraOf) => {
    for (const code of bytes) {
      const extra = extraOf(code);
      for (const flag of [0, 1, 2, 3, 255]) {
        const flagged = { ...extra, bytes: Buffer.from(extra.bytes) };
        flagged.bytes[4] = flag;
        const [finding, ...more] = findingsOf({ extras: [flagged] });
        expect(more).toEqual([]);
        const listed = findTypeOfSource(`${family}:${code}`)?.type;
        expect(finding?.type).toBe(listed ?? 'unknown_alarm');
        const raw = flagged.bytes.toString('hex');
        expect(finding?.attributes).toMatchObject(listed === undefined ? { code, raw } : {});
      }
    }
  });

  it('every code of intense driving', () => {
    for (const code of bytes) {
      const item = { ...head, type: code, detail: Buffer.alloc(41) };
      const [finding, ...more] = findingsOf({
        extras: [createAdditionalItem(additionalItemDefinitions.intenseDriving, item)],
      });
      expect(more).toEqual([]);
      expect(finding?.type).toBe(findTypeOfSource(`driving:${code}`)?.type ?? 'abnormal_driving');
      expect(finding?.attributes).toMatchObject({ code });
    }
  });

  it.each(bits.slice(1, 16))('tyre alarm, bit %i', (bit) => {
    const wheel = { position: 1, type: 1 << bit, pressureKpa: 1, temperatureC: 1, batteryPercent: 1 };
    const item = createAdditionalItem(additionalItemDefinitions.tpmsAlarm, { ...head, ...place, tag, wheels: [wheel] });
    const [finding, ...more] = findingsOf({ extras: [item] });
    expect(more).toEqual([]);
    expect(finding?.type).toBe(bit <= 7 ? 'tyre_pressure' : 'unknown_alarm');
    expect(finding?.attributes).toMatchObject(bit > 7 ? { bit, raw: item.bytes.toString('hex') } : {});
  });

  it('a name outside the catalogue is recorded as unknown, with the name', () => {
    const vehicle = { ...context.vehicle, driverId: null };
    const [sos] = findingsOf({ bits: [0] });
    if (sos === undefined) throw new Error('nothing was raised');
    const response = { displayImei: null, address: null };
    const content = toNotification({ vehicle, raised: { ...sos, type: 'from_tomorrow' } }, 'en', response);
    expect(content).toMatchObject({
      type: 'unknown_alarm',
      severity: 'info',
      title: findTypeDefinition('unknown_alarm')?.title,
    });
    expect(JSON.parse(content.attributes)).toEqual({ bit: 0, reported_type: 'from_tomorrow' });
  });
});
