import { additionalItemDefinitions, createAdditionalItem, locationBatch, locationReport } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import {
  cameraTime,
  fromPartner,
  fromTerminal,
  imei,
  locationOf,
  startMs,
  transmissionMs,
} from '../testing/telemetry-reports.ts';
import { type Decoded, type DecodedReport, decodeReport, deviceTimestamp } from './decode-report.ts';

const faults: string[] = [];
const decoded = (report: Parameters<typeof decodeReport>[0]): Decoded[] =>
  decodeReport(report, (fault) => faults.push(fault));
const positions = (report: Parameters<typeof decodeReport>[0]): DecodedReport[] =>
  decoded(report).filter((each) => each.kind === 'position');

describe('location report', () => {
  it('decodes its values, and those of its additional items', () => {
    const extras = [
      createAdditionalItem(additionalItemDefinitions.mileage, { mileageKm: 12_345.6 }),
      createAdditionalItem(additionalItemDefinitions.fuel, { fuelL: 41.5 }),
      createAdditionalItem(additionalItemDefinitions.signalStrength, { signalStrength: 23 }),
      createAdditionalItem(additionalItemDefinitions.satellites, { satellites: 11 }),
    ];
    const [report, ...more] = positions(fromTerminal(locationReport, locationOf({ alarm: 0x8000_0001, extras })));
    expect(more).toEqual([]);
    expect(report).toMatchObject({
      kind: 'position',
      imei,
      accountId: null,
      edition: '2013',
      serialNo: 7,
      alarmWord: 0x8000_0001,
      statusWord: 0b11,
      receivedAtMs: startMs + transmissionMs,
      deviceTime: cameraTime(startMs),
      isStored: false,
    });
    expect(report?.position).toEqual({
      imei,
      latitude: 22.5,
      longitude: 114,
      altitude: 20,
      speed: 40,
      course: 90,
      gpsValid: true,
      satellites: 11,
      signal: 23,
      ignition: true,
      odometerKm: 12_345.6,
      fuelL: 41.5,
      batteryPercent: null,
      externalVoltage: null,
      source: 'jt808',
    });
    expect(report?.extras.map(({ id }) => id)).toEqual([0x01, 0x02, 0x30, 0x31]);
  });

  it('decodes values without an item as null', () => {
    const [report] = positions(fromTerminal(locationReport, locationOf({ status: 0b10 })));
    const nothing = { satellites: null, signal: null, odometerKm: null, fuelL: null };
    expect(report?.position).toMatchObject({ ...nothing, ignition: false, gpsValid: true });
  });

  it('decodes charge and supply voltage of vendor items', () => {
    const extras = [
      { id: 0xfe, bytes: Buffer.from([18]) },
      { id: 0x61, bytes: Buffer.from('04d2', 'hex') },
    ];
    const [report] = positions(fromTerminal(locationReport, locationOf({ extras })));
    expect(report?.position).toMatchObject({ batteryPercent: 18, externalVoltage: 12.34 });
  });

  it('identifies a terminal by its canonical number, and stores the number as sent', () => {
    const phone = `00000000${imei}`;
    const [report] = positions(fromTerminal(locationReport, locationOf(), { phone, edition: '2019' }));
    expect(report).toMatchObject({ imei, edition: '2019', position: { imei: phone } });
  });

  it.each([
    ['without the status bit of a fix', { status: 0b01 }, { latitude: 22.5, longitude: 114 }],
    ['at 0, 0, even with the status bit', { latitudeDeg: 0, longitudeDeg: 0 }, { latitude: 0, longitude: 0 }],
    ['out of the valid range', { latitudeDeg: 91.5 }, { latitude: 0, longitude: 0 }],
  ])('has no fix %s', (_case, more, place) => {
    const [report] = positions(fromTerminal(locationReport, locationOf(more)));
    expect(report?.position).toMatchObject({ gpsValid: false, ...place });
  });

  it('has the same hash alone and in a batch, and another hash for other content', () => {
    const extras = [createAdditionalItem(additionalItemDefinitions.fuel, { fuelL: 41.5 })];
    const items = [
      locationOf({ extras }),
      locationOf({ speedKmh: 41, extras }),
      locationOf({ time: cameraTime(startMs + 1_000), extras }),
    ];
    const batched = positions(fromTerminal(locationBatch, { count: items.length, locationType: 1, items }));
    expect(batched.map(({ isStored }) => isStored)).toEqual([true, true, true]);
    const alone = items.flatMap((item) => positions(fromTerminal(locationReport, item)));
    expect(batched.map(({ hash }) => hash)).toEqual(alone.map(({ hash }) => hash));
    const other = positions(
      fromTerminal(
        locationReport,
        locationOf({ extras: [createAdditionalItem(additionalItemDefinitions.fuel, { fuelL: 41.6 })] }),
      ),
    );
    expect(new Set([...alone, ...other].map(({ hash }) => hash)).size).toBe(4);
  });

  it('reports invalid messages as faults', () => {
    faults.length = 0;
    const report = fromTerminal(locationReport, locationOf());
    expect(decoded({ ...report, body: Buffer.from('short') })).toEqual([]);
    expect(decoded({ ...report, messageId: 0x0704, body: Buffer.from('x') })).toEqual([]);
    expect(decoded({ ...report, phone: '000000000000' })).toEqual([]);
    expect(faults).toEqual([
      expect.stringContaining('0x0200'),
      expect.stringContaining('0x0704'),
      'a terminal number of zeros',
    ]);
  });
});

describe('time of a report', () => {
  const dayMs = 86_400_000;
  const at = (deviceTime: string | number | null, offset = '+08:00'): number =>
    deviceTimestamp({ deviceTime, receivedAtMs: startMs }, offset) - startMs;

  it('is read by the clock of the terminal', () => {
    expect(at(cameraTime(startMs - 60_000))).toBe(-60_000);
    expect(at('2026-01-31T02:00:00', '+00:00')).toBe(0);
    expect(at('2026-01-30T23:30:00', '-02:30')).toBe(0);
  });

  it.each([
    ['ten minutes ahead', 600_000, 600_000],
    ['further ahead', 601_000, 0],
    ['a year behind', -365 * dayMs, -365 * dayMs],
    ['further behind, as a clock that was never set', -367 * dayMs, 0],
  ])('accepts or replaces the time of a clock %s', (_case, distanceMs, found) =>
    expect(at(cameraTime(startMs + distanceMs))).toBe(found),
  );

  it('is the time of arrival for a terminal without a time', () => {
    expect(at(null)).toBe(0);
    expect(at('2000-00-00T00:00:00')).toBe(0);
  });

  it("of a partner's position is its own, and at most the time of arrival", () => {
    expect(at(startMs - 400 * dayMs)).toBe(-400 * dayMs);
    expect(at(startMs + 5_000)).toBe(0);
  });
});

describe('reports of partners', () => {
  const position = {
    latitude: 48.1,
    longitude: 11.5,
    timestamp: startMs,
    speed: 42,
    course: 359.7,
    altitude: 510,
    satellites: 8,
    ignition: true,
    odometerKm: 1.5,
    batteryPercent: 80,
    temperatureC: 21,
    driver: 'D1',
    backfilled: true,
  };

  it('decodes a position without the fields of terminals', () => {
    const [report, ...more] = positions(fromPartner({ kind: 'position', accountId: 3, position }, '860000000000123'));
    expect(more).toEqual([]);
    expect(report).toMatchObject({
      imei: '860000000000123',
      accountId: 3,
      edition: 'partner',
      serialNo: 0,
      alarmWord: 0,
      statusWord: 0,
      extras: [],
      deviceTime: startMs,
      receivedAtMs: startMs + transmissionMs,
      isStored: true,
    });
    expect(report?.position).toEqual({
      imei: '860000000000123',
      latitude: 48.1,
      longitude: 11.5,
      altitude: 510,
      speed: 42,
      course: 0,
      gpsValid: true,
      satellites: 8,
      signal: null,
      ignition: true,
      odometerKm: 1.5,
      fuelL: null,
      batteryPercent: 80,
      externalVoltage: null,
      source: 'partner',
    });
  });

  it('has the same hash for equal device and time', () => {
    const hashOf = (more: Partial<typeof position>) =>
      positions(fromPartner({ kind: 'position', accountId: 3, position: { ...position, ...more } }))[0]?.hash;
    expect(hashOf({ speed: 1 })).toBe(hashOf({}));
    expect(hashOf({ timestamp: startMs + 1 })).not.toBe(hashOf({}));
  });

  it('decodes a heartbeat, whose values are optional', () => {
    const values = { powerLevel: 55, voltage: 12.4, gsmSign: 3, acc: 0, oilEle: 1, fortify: 0 };
    const heartbeat = { timestamp: startMs + 60_000, values };
    expect(decoded(fromPartner({ kind: 'heartbeat', accountId: 3, heartbeat }))).toEqual([
      {
        kind: 'heartbeat',
        imei,
        accountId: 3,
        displayImei: imei,
        receivedAtMs: startMs + transmissionMs,
        timestamp: startMs + transmissionMs,
        ignition: false,
        batteryPercent: 55,
        externalVoltage: 12.4,
        signal: 3,
      },
    ]);
    const [silent] = decoded(
      fromPartner({ kind: 'heartbeat', accountId: 3, heartbeat: { timestamp: startMs, values: {} } }),
    );
    expect(silent).toMatchObject({ ignition: null, batteryPercent: null, externalVoltage: null, signal: null });
  });

  it('reports a fault for invalid JSON', () => {
    faults.length = 0;
    const report = fromPartner({ kind: 'heartbeat', accountId: 3, heartbeat: { timestamp: startMs, values: {} } });
    expect(decoded({ ...report, body: Buffer.from('{') })).toEqual([]);
    expect(faults).toEqual(["a partner's report that is not JSON"]);
  });
});
