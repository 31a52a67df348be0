import { TelemetryBatch } from '@fleet/bus';
import { describe, expect, it } from '@jest/globals';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { defaultRuleSettings } from '../rules/settings.ts';
import { decodedAt, heartbeatAt, imei, judges, pushedAt, startMs } from '../testing/telemetry-reports.ts';
import type { Decoded } from './decode.ts';
import type { FleetVehicle } from './fleet.ts';
import { arrivedIn, judgeUnit, lateOnes, mayReport, type Unit } from './unit.ts';

const vehicle = { _id: 7, accountId: 1, cameraUtcOffset: '+08:00', odometerKm: 0, timezone: 'Asia/Shanghai' };
const known: FleetVehicle = {
  vehicle: { ...vehicle, imei, driverId: null, createdAt: new Date(0) } as unknown as Vehicle,
  imei,
  nextServiceKm: null,
  geofences: [],
  routes: [],
};
const vehicles = new Map([[imei, known]]);
const parts = { stream: 'made', settings: defaultRuleSettings, judges };

/** Evaluates messages of the stream, each with one entry. */
const judged = (
  messages: readonly (readonly [seq: number, report: Decoded])[],
  states = new Map<string, VehicleState>(),
  of = known,
): Unit =>
  judgeUnit(
    messages.map(([seq, report]) => ({ seq, report })),
    new Map([[imei, of]]),
    states,
    parts,
  );
const statesAfter = (unit: Unit) => new Map([...unit.moved].map(([number, { state }]) => [number, state]));

describe('a unit of messages', () => {
  it('has points and states of reports, and no points of heartbeats', () => {
    const unit = judged([
      [1, pushedAt(0)],
      [2, heartbeatAt(60, { batteryPercent: 15 })],
    ]);
    expect(unit.points.map(({ position: { timestamp } }) => timestamp)).toEqual([startMs]);
    expect(unit.moved.get(imei)).toMatchObject({ before: null, state: { seq: 2, location: { batteryPercent: 15 } } });
    expect(unit.raised.map(({ raised: { type } }) => type)).toEqual(['low_battery']);
  });

  it('has only points for messages that were applied before', () => {
    const messages = [
      [1, pushedAt(0)],
      [2, heartbeatAt(60, { batteryPercent: 15 })],
    ] as const;
    const again = judged(messages, statesAfter(judged(messages)));
    expect(again.moved.size).toBe(0);
    expect(again.raised).toEqual([]);
    expect(again.points.map(({ hash }) => hash)).toEqual(['at-0']);
  });

  it('ignores reports of a partner of another account for the number', () => {
    const unit = judged([
      [1, { ...pushedAt(0), accountId: 2 }],
      [2, heartbeatAt(60, { accountId: 2, batteryPercent: 15 })],
      [3, decodedAt(120)],
    ]);
    expect(unit.points.map(({ hash }) => hash)).toEqual(['at-120']);
    expect(unit.raised).toEqual([]);
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
      expect(reports.map(([, report]) => mayReport(report, moved))).toEqual([false, false, true]);
      const unit = judged(reports, new Map(), moved);
      expect(unit.points.map(({ hash }) => hash)).toEqual(['at-60']);
      expect(unit.raised).toEqual([]);
      // The messages were applied before a crash, and are read again for the history.
      expect(judged(reports, statesAfter(unit), moved).points.map(({ hash }) => hash)).toEqual(['at-60']);
    }
  });

  it('looks up only reports in the history that are older than the newest', () => {
    const states = statesAfter(judged([[1, pushedAt(60)]]));
    const arrived = [pushedAt(30), pushedAt(90), heartbeatAt(40)].map((report, at) => ({ report, seq: at + 2 }));
    expect(lateOnes(arrived, vehicles, states).map(({ hash }) => hash)).toEqual(['at-30']);
    const aliveOnly = statesAfter(judged([[1, heartbeatAt(60)]]));
    expect(lateOnes(arrived, vehicles, aliveOnly)).toEqual([]);
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
    const arrived = arrivedIn([message], (fault) => faults.push(fault));
    expect(arrived).toMatchObject([{ seq: 4, report: { kind: 'heartbeat', batteryPercent: 15 } }]);
    expect(faults).toEqual(["a partner's report that is not JSON"]);
  });
});
