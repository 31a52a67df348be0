import { describe, expect, it } from '@jest/globals';
import { appendPartnerReport, type PartnerReport, parsePartnerReport } from './partner-telemetry.ts';
import { readTelemetryBatch, TelemetryBatch } from './telemetry.ts';

const position: PartnerReport = {
  kind: 'position',
  accountId: 7,
  position: {
    latitude: 22.577,
    longitude: 113.916,
    timestamp: 1_700_000_000_000,
    speed: 42,
    course: 270,
    altitude: null,
    satellites: 9,
    ignition: true,
    odometerKm: 12.5,
    batteryPercent: null,
    temperatureC: null,
    driver: null,
    backfilled: false,
  },
};
const heartbeat: PartnerReport = {
  kind: 'heartbeat',
  accountId: 7,
  heartbeat: { timestamp: 1_700_000_000_500, values: { powerLevel: 80 } },
};

describe("a partner's report in a telemetry batch", () => {
  it('is read back unchanged from between terminal reports', () => {
    const batch = new TelemetryBatch();
    appendPartnerReport(batch, '868120303960832', 1_700_000_001_000, position);
    batch.append(1, Buffer.from('013800138000', 'hex'), 0x0200, 5, 1_700_000_001_001, Buffer.from([1, 2]));
    appendPartnerReport(batch, '868120303960832', 1_700_000_001_002, heartbeat);
    const entries = [...readTelemetryBatch(batch.take())];
    expect(entries.map(({ edition, phone, messageId }) => [edition, phone, messageId])).toEqual([
      ['partner', '00000868120303960832', 0x0200],
      ['2013', '013800138000', 0x0200],
      ['partner', '00000868120303960832', 0x0002],
    ]);
    expect(entries.map(parsePartnerReport)).toEqual([position, null, heartbeat]);
  });
});
