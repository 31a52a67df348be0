import { additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { contextOf } from '../testing/rule-harness.ts';
import { decodedAt, evaluators, imei, originAt, startMs, transmissionMs } from '../testing/telemetry-reports.ts';
import type { DecodedReport } from './decode-report.ts';
import { type Evaluation, evaluateReport } from './evaluate-report.ts';

const context = contextOf();
const sosBit = 1;

/** Processes reports in order; the state is converted to JSON in between, as in Redis. */
function evaluate(reports: readonly DecodedReport[], isKnown: (hash: string) => boolean = () => false): Evaluation[] {
  let state: VehicleState | null = null;
  return reports.map((report, at) => {
    const parts = { ...evaluators, isKnown: (_position: unknown, hash: string) => isKnown(hash) };
    const outcome = evaluateReport(state, report, context, originAt(at + 1), parts);
    state = JSON.parse(JSON.stringify(outcome.state)) as VehicleState;
    return outcome;
  });
}
const last = (outcomes: readonly Evaluation[]): Evaluation => {
  const outcome = outcomes.at(-1);
  if (outcome === undefined) throw new Error('there was no report');
  return outcome;
};
/** A report from a batch of stored ones. */
const stored = (second: number, arrivesAfterMs: number, more: Partial<DecodedReport> = {}): DecodedReport => ({
  ...decodedAt(second),
  isStored: true,
  receivedAtMs: startMs + second * 1_000 + arrivesAfterMs,
  ...more,
});
/** A report without a fix, as terminals send it. */
const blind = (second: number, more: Partial<DecodedReport['position']> = {}): DecodedReport =>
  decodedAt(second, { statusWord: 0b01, position: { latitude: 0, longitude: 0, gpsValid: false, ...more } });

describe('a report', () => {
  it("becomes the vehicle's last position, a point of its history, and its state", () => {
    const { state, position, hash, mustPersist } = last(evaluate([decodedAt(0)]));
    expect(position).toMatchObject({ latitude: 22.5, timestamp: startMs, serverTimestamp: startMs + transmissionMs });
    expect(position).toMatchObject({ backfilled: false, alarms: [], slowSinceMs: null });
    expect(state).toMatchObject({ vehicleId: context.vehicle.id, stream: 'made', seq: 1, location: position });
    expect(state.recent).toEqual([`${startMs}:${hash}`]);
    expect(mustPersist).toBe(true);
  });

  it('has no effect when it is repeated, except on the sequence number', () => {
    const up = { alarmWord: sosBit };
    const [first, again] = evaluate([decodedAt(0, up), decodedAt(0, up)]);
    expect(first?.findings.map(({ type }) => type)).toEqual(['sos']);
    expect(again).toMatchObject({ position: null, findings: [], updates: [], mustPersist: false });
    expect(again?.state).toEqual({ ...first?.state, seq: 2 });
  });

  it('counts beside another one of the same time with other content', () => {
    const [, second] = evaluate([
      decodedAt(0),
      decodedAt(0, { hash: 'other', alarmWord: sosBit, position: { speed: 41 } }),
    ]);
    expect(second?.findings).toMatchObject([{ type: 'sos', atMs: startMs, backfilled: false }]);
    expect(second?.position).toMatchObject({ speed: 41, alarms: ['sos'] });
    expect(second?.state.location).toMatchObject({ speed: 41, timestamp: startMs });
    expect(second?.state.recent).toHaveLength(2);
  });
});

describe('a report that is older than the newest', () => {
  it('is stored in the history, and does not change last position, mileage count and rules', () => {
    const [now, late] = evaluate([
      decodedAt(100, { position: { speed: 0, ignition: false, odometerKm: 50 } }),
      stored(10, 95_000, { position: { ...decodedAt(10).position, odometerKm: 90 } }),
    ]);
    expect(late?.position).toMatchObject({ timestamp: startMs + 10_000, speed: 40, backfilled: true });
    expect(late?.state.location).toEqual(now?.state.location);
    expect(late?.state.odometer).toEqual(now?.state.odometer);
    expect(late?.state.travelledKm).toBe(now?.state.travelledKm);
    expect(late?.state.rules).toEqual(now?.state.rules);
    expect(late?.findings).toEqual([]);
  });

  it('raises its alarm bits at their rise, marked as backfilled', () => {
    const [, before, rising, staying] = evaluate([
      decodedAt(100),
      stored(10, 95_000),
      stored(11, 95_000, { alarmWord: sosBit }),
      stored(12, 95_000, { alarmWord: sosBit }),
    ]);
    expect(before?.findings).toEqual([]);
    expect(rising?.findings).toMatchObject([{ type: 'sos', atMs: startMs + 11_000, backfilled: true }]);
    expect(rising?.state.location.alarms).toEqual([]);
    expect(staying?.findings).toEqual([]);
  });

  it('has no effect if the history contains it', () => {
    const reports = [decodedAt(100), stored(11, 95_000, { alarmWord: sosBit })];
    const late = last(evaluate(reports, (hash) => hash === 'at-11'));
    expect(late).toMatchObject({ position: null, findings: [], mustPersist: false });
    expect(late.state.seq).toBe(2);
  });
});

describe('a stored report that is newer than the last', () => {
  it.each([
    ['of 200 s ago is processed normally', 200_000, false],
    ['of 300 s ago is processed normally', 300_000, false],
    ['of more than 5 minutes ago is marked as backfilled', 300_001, true],
  ])('%s', (_case, ageMs, isMarked) => {
    const { position, state, findings } = last(evaluate([decodedAt(0), stored(60, ageMs, { alarmWord: sosBit })]));
    expect(position?.backfilled).toBe(isMarked);
    expect(state.location).toMatchObject({ timestamp: startMs + 60_000, backfilled: isMarked });
    expect(findings).toMatchObject([{ type: 'sos', backfilled: isMarked }]);
  });

  it('is marked only if it was stored: a slow clock does not make a report late', () => {
    const slow = decodedAt(60, { receivedAtMs: startMs + 60_000 + 400_000 });
    expect(last(evaluate([decodedAt(0), slow])).position?.backfilled).toBe(false);
  });
});

describe('a report without a position', () => {
  it('gets the last known position, without a fix', () => {
    const [, second, third] = evaluate([decodedAt(0), blind(10), blind(20, { speed: 3 })]);
    for (const outcome of [second, third]) {
      expect(outcome?.position).toMatchObject({ latitude: 22.5, longitude: 114, gpsValid: false });
      expect(outcome?.state.location).toMatchObject(outcome?.position ?? {});
    }
    expect(third?.state.location).toMatchObject({ speed: 3, timestamp: startMs + 20_000 });
  });

  it('raises its alarms at that position', () => {
    const { findings } = last(evaluate([decodedAt(0), { ...blind(10), alarmWord: sosBit }]));
    expect(findings).toMatchObject([{ type: 'sos', latitude: 22.5, longitude: 114, gpsValid: false }]);
  });

  it('has the position 0, 0 if none was ever known', () => {
    const [first, second] = evaluate([blind(0), blind(10)]);
    for (const outcome of [first, second])
      expect(outcome?.state.location).toMatchObject({ latitude: 0, longitude: 0, gpsValid: false });
  });

  it('keeps a position that the terminal itself remembers', () => {
    const { position } = last(evaluate([decodedAt(0), blind(10, { latitude: 22.6, longitude: 114.1 })]));
    expect(position).toMatchObject({ latitude: 22.6, longitude: 114.1, gpsValid: false });
  });

  it('raises late alarms at the last known position, and has no such position in the history', () => {
    const late = { ...blind(10), isStored: true, alarmWord: sosBit };
    const { findings, position } = last(evaluate([decodedAt(100), late]));
    expect(findings).toMatchObject([
      { type: 'sos', latitude: 22.5, longitude: 114, gpsValid: false, backfilled: true },
    ]);
    expect(position).toMatchObject({ latitude: 0, longitude: 0, gpsValid: false });
  });

  it('does not change distance and speed: the count continues from the last fix', () => {
    const km = (reports: readonly DecodedReport[]) => last(evaluate(reports)).state.travelledKm;
    const there = decodedAt(60, { position: { latitude: 22.504 } });
    const direct = km([decodedAt(0), there]);
    expect(direct).toBeCloseTo(0.445, 2);
    expect(km([decodedAt(0), blind(20), blind(40), there])).toBeCloseTo(direct, 6);
    const counted = (second: number, mileageKm: number) => blind(second, { odometerKm: mileageKm });
    const mileage = { position: { odometerKm: 100 } };
    expect(km([decodedAt(0, mileage), counted(20, 100.2), counted(40, 100.4)])).toBeCloseTo(0.4, 6);
  });

  it('does not change geofence states', () => {
    const states = evaluate([decodedAt(0), decodedAt(5), blind(10), blind(40)]).map(
      ({ state }) => state.rules['geofence'],
    );
    expect(states[3]).toEqual(states[1]);
  });
});

it('lists the current alarms of items and bits', () => {
  const extras = [createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: 1 })];
  const { state } = last(evaluate([decodedAt(0, { alarmWord: sosBit, extras })]));
  expect(state.location).toMatchObject({ imei, alarms: ['sos', 'video_signal_loss'] });
});
