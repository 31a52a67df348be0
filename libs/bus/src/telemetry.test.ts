import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  maxBatchBytes,
  readTelemetryBatch,
  TelemetryBatch,
  type TelemetryReport,
  telemetryPartition,
} from './telemetry.ts';

fc.configureGlobal(propertySettings);

const editions = ['2011', '2013', '2019', 'partner'] as const;

const createBatch = (reports: readonly TelemetryReport[]): Buffer => {
  const batch = new TelemetryBatch();
  for (const report of reports) {
    const edition = editions.indexOf(report.edition) as 0 | 1 | 2 | 3;
    const phone = Buffer.from(report.phone, 'hex');
    batch.append(edition, phone, report.messageId, report.serialNo, report.receivedAtMs, report.body);
  }
  expect(batch.count).toBe(reports.length);
  const payload = batch.take();
  expect([batch.count, batch.size]).toEqual([0, 1]);
  return payload;
};

function catchError(work: () => void): unknown {
  try {
    work();
    return undefined;
  } catch (error) {
    return error;
  }
}

const report = fc.record({
  edition: fc.constantFrom(...editions),
  phone: fc
    .constantFrom(6, 10)
    .chain((bytes) =>
      fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((digits) => Buffer.from(digits).toString('hex')),
    ),
  messageId: fc.integer({ min: 0, max: 0xffff }),
  serialNo: fc.integer({ min: 0, max: 0xffff }),
  receivedAtMs: fc.integer({ min: 0, max: 2 ** 48 - 1 }),
  body: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
});

describe('telemetry batch', () => {
  const golden =
    '01' + // format version
    '0000001a' + // 26 bytes follow: 22 of header, 4 of body
    '01' + // edition 2013
    '06' + // six bytes of terminal number, right-aligned in ten
    '00000000013800138000' +
    '0200' +
    '002a' +
    '018bcfe56800' + // 2023-11-14T22:13:20Z in milliseconds
    'deadbeef' +
    '00000016' +
    '02' +
    '0a' +
    '00000000013800138001' +
    '0704' +
    'ffff' +
    '018bcfe56801';
  const reports: TelemetryReport[] = [
    {
      edition: '2013',
      phone: '013800138000',
      messageId: 0x0200,
      serialNo: 42,
      receivedAtMs: 1_700_000_000_000,
      body: Buffer.from('deadbeef', 'hex'),
    },
    {
      edition: '2019',
      phone: '00000000013800138001',
      messageId: 0x0704,
      serialNo: 0xffff,
      receivedAtMs: 1_700_000_000_001,
      body: Buffer.alloc(0),
    },
  ];

  it('encodes and decodes the golden bytes', () => {
    expect(createBatch(reports).toString('hex')).toBe(golden);
    expect([...readTelemetryBatch(Buffer.from(golden, 'hex'))]).toEqual(reports);
  });

  it('decodes every appended report', () => {
    fc.assert(
      fc.property(fc.array(report, { maxLength: 40 }), (given) => {
        expect([...readTelemetryBatch(createBatch(given))]).toEqual(given);
      }),
    );
  });

  it('throws a RangeError for a truncated batch, after complete reports only', () => {
    const bytes = Buffer.from(golden, 'hex');
    const boundaries = [1, 31, bytes.length];
    for (let length = 0; length <= bytes.length; length += 1) {
      const read: TelemetryReport[] = [];
      const fault = catchError(() => {
        for (const one of readTelemetryBatch(bytes.subarray(0, length))) read.push(one);
      });
      expect([length, fault instanceof RangeError]).toEqual([length, !boundaries.includes(length)]);
      expect(read).toEqual(reports.slice(0, [31, bytes.length].filter((end) => end <= length).length));
    }
  });

  it('throws nothing but a RangeError for arbitrary bytes, and always terminates', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.boolean(), (bytes, isVersion) => {
        const payload = isVersion ? Buffer.concat([Buffer.from([1]), bytes]) : Buffer.from(bytes);
        let reports = 0;
        const fault = catchError(() => {
          for (const _report of readTelemetryBatch(payload)) reports += 1;
        });
        expect(fault === undefined || fault instanceof RangeError).toBe(true);
        expect(reports).toBeLessThanOrEqual(8);
      }),
      { numRuns: propertyRuns(2_000) },
    );
  });

  it('leaves a payload unchanged while the next batch grows to its limit', () => {
    const batch = new TelemetryBatch();
    const body = Buffer.alloc(1_000, 0x5a);
    while (batch.size + body.length + 26 <= maxBatchBytes)
      batch.append(0, Buffer.from('013800138000', 'hex'), 0x0200, batch.count, 1, body);
    const count = batch.count;
    const payload = batch.take();
    const copy = Buffer.from(payload);
    for (let i = 0; i < 100; i += 1) batch.append(1, Buffer.alloc(6, 1), 1, 1, 1, Buffer.alloc(1_000, 1));
    expect(payload.equals(copy)).toBe(true);
    expect(payload.length).toBeLessThanOrEqual(maxBatchBytes);
    expect([...readTelemetryBatch(payload)].map(({ serialNo }) => serialNo)).toEqual(
      Array.from({ length: count }, (_unused, serialNo) => serialNo),
    );
  });
});

describe('partition of a terminal', () => {
  it('is FNV-1a of the number, stable and within range', () => {
    expect(telemetryPartition('', 0x1_0000_0000)).toBe(0x811c9dc5);
    expect(telemetryPartition('a', 0x1_0000_0000)).toBe(0xe40c292c);
    expect(telemetryPartition('foobar', 0x1_0000_0000)).toBe(0xbf9cf968);
  });

  it('spreads terminals over the partitions', () => {
    const counts = Array.from({ length: 8 }, () => 0);
    for (let i = 0; i < 8_000; i += 1) {
      const partition = telemetryPartition(String(13_800_000_000 + i), 8);
      counts[partition] = (counts[partition] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 1_000)).toBeLessThan(250);
  });
});
