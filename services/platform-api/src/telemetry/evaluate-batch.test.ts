import { TelemetryBatch } from '@fleet/bus';
import { describe, expect, it } from '@jest/globals';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { defaultRuleSettings } from '../testing/rule-harness.ts';
import { decodedAt, evaluators, heartbeatAt, imei, partnerReportAt, startMs } from '../testing/telemetry-reports.ts';
import { decodeBatch } from './decode-batch.ts';
import type { Decoded } from './decode-report.ts';
import { type BatchResult, belongsTo, evaluateBatch, findLateReports } from './evaluate-batch.ts';
import type { VehicleContext } from './vehicle-context-cache.ts';

const vehicle = { _id: 7, accountId: 1, cameraUtcOffset: '+08:00', odometerKm: 0, timezone: 'Asia/Shanghai' };
const known: VehicleContext = {
  vehicle: { ...vehicle, imei, driverId: null, createdAt: new Date(0) } as unknown as Vehicle,
  imei,
  nextServiceKm: null,
  geofences: [],
  routes: [],
};
const vehicles = new Map([[imei, known]]);
const context = { stream: 'made', settings: defaultRuleSettings, evaluators };

/** Evaluates messages of the stream, each with one entry. */
const evaluate = (
  messages: readonly (readonly [seq: number, report: Decoded])[],
  states = new Map<string, VehicleState>(),
  of = known,
): BatchResult =>
  evaluateBatch(
    messages.map(([seq, report]) => ({ seq, report })),
    new Map([[imei, of]]),
    states,
    context,
  );
const statesAfter = (batch: BatchResult) => new Map([...batch.updates].map(([number, { state }]) => [number, state]));

describe('a batch of messages', () => {
  it('has points and states of reports, and no points of heartbeats', () => {
    const batch = evaluate([
      [1, partnerReportAt(0)],
      [2, heartbeatAt(60, { batteryPercent: 15 })],
    ]);
    expect(batch.points.map(({ position: { timestamp } }) => timestamp)).toEqual([startMs]);
    expect(batch.updates.get(imei)).toMatchObject({
      before: null,
      state: { seq: 2, location: { batteryPercent: 15 } },
    });
    expect(batch.notifications.map(({ raised: { type } }) => type)).toEqual(['low_battery']);
  });

  it('has only points for messages that were applied before', () => {
    const messages = [
      [1, partnerReportAt(0)],
      [2, heartbeatAt(60, { batteryPercent: 15 })],
    ] as const;
    const again = evaluate(messages, statesAfter(evaluate(messages)));
    expect(again.updates.size).toBe(0);
    expect(again.notifications).toEqual([]);
    expect(again.points.map(({ hash }) => hash)).toEqual(['at-0']);
  });

  it('ignores reports of a partner of another account for the number', () => {
    const batch = evaluate([
      [1, { ...partnerReportAt(0), accountId: 2 }],
      [2, heartbeatAt(60, { accountId: 2, batteryPercent: 15 })],
      [3, decodedAt(120)],
    ]);
    expect(batch.points.map(({ hash }) => hash)).toEqual(['at-120']);
    expect(batch.notifications).toEqual([]);
  });

  it('ignores reports received before the terminal was assigned, perhaps for a vehicle of another account', () => {
    const reports = [
      [1, decodedAt(0)],
      [2, heartbeatAt(30, { batteryPercent: 15 })],
      [3, decodedAt(60)],
    ] as const;
    const sinceMs = decodedAt(60).receivedAtMs;
    for (const more of [{ terminalSinceMs: sinceMs }, { createdAt: new Date(sinceMs) }]) {
      const moved = { ...known, vehicle: { ...known.vehicle, ...more } };
      expect(reports.map(([, report]) => belongsTo(report, moved))).toEqual([false, false, true]);
      const batch = evaluate(reports, new Map(), moved);
      expect(batch.points.map(({ hash }) => hash)).toEqual(['at-60']);
      expect(batch.notifications).toEqual([]);
      // The messages were applied before a crash, and are read again for the history.
      expect(evaluate(reports, statesAfter(batch), moved).points.map(({ hash }) => hash)).toEqual(['at-60']);
    }
  });

  it('looks up only reports in the history that are older than the newest', () => {
    const states = statesAfter(evaluate([[1, partnerReportAt(60)]]));
    const arrived = [partnerReportAt(30), partnerReportAt(90), heartbeatAt(40)].map((report, at) => ({
      report,
      seq: at + 2,
    }));
    expect(findLateReports(arrived, vehicles, states).map(({ hash }) => hash)).toEqual(['at-30']);
    const aliveOnly = statesAfter(evaluate([[1, heartbeatAt(60)]]));
    expect(findLateReports(arrived, vehicles, aliveOnly)).toEqual([]);
  });

  it('continues after an invalid entry', () => {
    const faults: string[] = [];
    const batch = new TelemetryBatch();
    const number = Buffer.from(imei.padStart(20, '0'), 'hex');
    batch.append(3, number, 0x0002, 0, startMs, Buffer.from('{'));
    const heartbeat = {
      kind: 'heartbeat',
      accountId: 1,
      heartbeat: { timestamp: startMs, values: { powerLevel: 15 } },
    };
    batch.append(3, number, 0x0002, 0, startMs, Buffer.from(JSON.stringify(heartbeat)));
    const message = { data: batch.take(), sequence: 4, storedAtMs: startMs };
    const arrived = decodeBatch([message], (fault) => faults.push(fault));
    expect(arrived).toMatchObject([{ seq: 4, report: { kind: 'heartbeat', batteryPercent: 15 } }]);
    expect(faults).toEqual(["a partner's report that is not JSON"]);
  });
});
