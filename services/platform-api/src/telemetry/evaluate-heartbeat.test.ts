import { describe, expect, it } from '@jest/globals';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { contextOf } from '../testing/rule-harness.ts';
import {
  evaluators,
  heartbeatAt,
  imei,
  originAt,
  partnerReportAt,
  startMs,
  transmissionMs,
} from '../testing/telemetry-reports.ts';
import type { DecodedHeartbeat, DecodedReport } from './decode-report.ts';
import { evaluateHeartbeat } from './evaluate-heartbeat.ts';
import { type Evaluation, evaluateReport } from './evaluate-report.ts';

const context = contextOf();

/** Processes reports and heartbeats in order; the state is converted to JSON in between, as in Redis. */
function evaluate(...arrived: readonly (DecodedReport | DecodedHeartbeat)[]): Evaluation[] {
  let state: VehicleState | null = null;
  return arrived.map((each, at) => {
    const outcome: Evaluation =
      each.kind === 'position'
        ? evaluateReport(state, each, context, originAt(at + 1), evaluators)
        : evaluateHeartbeat(state, each, context, originAt(at + 1), evaluators.rules);
    state = JSON.parse(JSON.stringify(outcome.state)) as VehicleState;
    return outcome;
  });
}
const locations = (...arrived: readonly (DecodedReport | DecodedHeartbeat)[]) =>
  evaluate(...arrived).map(({ state }) => state.location);
/** Returns the findings as second and type. */
const findings = (...arrived: readonly (DecodedReport | DecodedHeartbeat)[]): string[] =>
  evaluate(...arrived).flatMap(({ findings }) =>
    findings.map(({ type, atMs }) => `${(atMs - startMs) / 1_000} ${type}`),
  );
const parked = (second: number, more: Partial<DecodedReport['position']> = {}) =>
  partnerReportAt(second, { speed: 0, ignition: null, ...more });

const unmade = (): never => {
  throw new Error('there is no state');
};

describe('a heartbeat', () => {
  it('updates the time of contact and its values, at the last position', () => {
    const [, after] = evaluate(
      parked(0),
      heartbeatAt(60, { batteryPercent: 55, externalVoltage: 12.4, signal: 3, ignition: false }),
    );
    expect(after?.state.location).toMatchObject({
      latitude: 22.5,
      longitude: 114,
      gpsValid: true,
      batteryPercent: 55,
      externalVoltage: 12.4,
      signal: 3,
      ignition: false,
      timestamp: startMs,
      serverTimestamp: startMs + transmissionMs,
      heardAtMs: startMs + 60_000 + transmissionMs,
    });
    expect(after).toMatchObject({ position: null, findings: [], state: { seq: 2 } });
  });

  it('does not change the mileage count, the history and other rules', () => {
    const [before, after] = evaluate(
      partnerReportAt(0, { odometerKm: 10 }),
      heartbeatAt(60, { batteryPercent: 55, ignition: true }),
    );
    const { low_battery: _low, ignition: _ignition, ...others } = after?.state.rules ?? {};
    expect(before?.state.rules).toMatchObject(others);
    expect(after?.state.odometer).toEqual(before?.state.odometer);
    expect(after?.state.travelledKm).toBe(before?.state.travelledKm);
    expect(after?.state.recent).toEqual(before?.state.recent);
  });

  it('has no effect if it is older than the newest one', () => {
    const [, newer, older] = evaluate(
      parked(0),
      heartbeatAt(60, { batteryPercent: 55 }),
      heartbeatAt(30, { batteryPercent: 15, receivedAtMs: startMs + 90_000 }),
    );
    expect(older?.state).toEqual({ ...newer?.state, seq: 3 });
    expect(older).toMatchObject({ findings: [], mustPersist: false });
  });

  it('adds only values that a newer position lacks', () => {
    const [, after] = locations(
      parked(60, { batteryPercent: 70, ignition: true }),
      heartbeatAt(30, { batteryPercent: 15, ignition: false, externalVoltage: 12.4 }),
    );
    expect(after).toMatchObject({ batteryPercent: 70, ignition: true, externalVoltage: 12.4 });
    expect(findings(parked(60, { batteryPercent: 70 }), heartbeatAt(30, { batteryPercent: 15 }))).toEqual([]);
  });

  it('has no position before the first one, and does not make that late', () => {
    const [alone, located] = evaluate(heartbeatAt(60, { batteryPercent: 15 }), parked(30));
    expect(alone?.state.location).toMatchObject({
      imei,
      latitude: 0,
      longitude: 0,
      gpsValid: false,
      batteryPercent: 15,
      source: 'partner',
    });
    expect(alone).toMatchObject({ position: null, mustPersist: true });
    expect(alone?.findings).toMatchObject([{ type: 'low_battery', latitude: 0, longitude: 0, gpsValid: false }]);
    expect(located?.state.location).toMatchObject({ latitude: 22.5, gpsValid: true, timestamp: startMs + 30_000 });
    expect(located?.position).toMatchObject({ backfilled: false });
  });
});

describe('a position after a heartbeat', () => {
  it("keeps the heartbeat's values that it lacks", () => {
    const heartbeat = heartbeatAt(60, { batteryPercent: 55, externalVoltage: 12.4, signal: 3, ignition: false });
    const [, , after] = evaluate(parked(0), heartbeat, parked(120, { batteryPercent: 54 }));
    expect(after?.state.location).toMatchObject({
      batteryPercent: 54,
      externalVoltage: 12.4,
      signal: 3,
      ignition: false,
      heardAtMs: startMs + 60_000 + transmissionMs,
      serverTimestamp: startMs + 120_000 + transmissionMs,
    });
    // The history has the values as reported.
    expect(after?.position).toMatchObject({ batteryPercent: 54, externalVoltage: null, ignition: null });
  });

  it('does not revert values if it was sent before the heartbeat', () => {
    const on = partnerReportAt(0, { ignition: true, batteryPercent: 21 });
    const off = heartbeatAt(60, { ignition: false, batteryPercent: 19 });
    const overtaken = partnerReportAt(50, { ignition: true, batteryPercent: 21 });
    expect(findings(on, off, overtaken, heartbeatAt(120, { ignition: false, batteryPercent: 18 }))).toEqual([
      '60 ignition_off',
      '60 low_battery',
    ]);
    expect(locations(on, off, overtaken)[2]).toMatchObject({ ignition: false, batteryPercent: 19 });
  });

  it('without values does not suppress heartbeats that arrive after it', () => {
    const beat = (second: number, ignition: boolean, batteryPercent: number) =>
      heartbeatAt(second, { ignition, batteryPercent });
    const arrived = [
      parked(0),
      parked(10),
      beat(5, true, 60),
      parked(20),
      parked(70),
      beat(60, false, 15),
      parked(130),
      beat(120, false, 5),
      parked(190),
      beat(180, false, 1),
    ];
    expect(findings(...arrived)).toEqual(['60 ignition_off', '60 low_battery']);
    expect(locations(...arrived).map(({ ignition, batteryPercent }) => [ignition, batteryPercent])).toEqual([
      [null, null],
      [null, null],
      [true, 60],
      [true, 60],
      [true, 60],
      [false, 15],
      [false, 15],
      [false, 5],
      [false, 5],
      [false, 1],
    ]);
  });

  it('has the values of the newer of two earlier heartbeats', () => {
    const both = [heartbeatAt(30, { batteryPercent: 40 }), heartbeatAt(60, { batteryPercent: 30, signal: 3 })];
    expect(locations(parked(0), parked(70), ...both)[3]).toMatchObject({ batteryPercent: 30, signal: 3 });
    expect(locations(parked(0), parked(70, { batteryPercent: 25 }), ...both)[3]).toMatchObject({
      batteryPercent: 25,
      signal: 3,
    });
  });

  it("does not revert a heartbeat's value that a later heartbeat lacks", () => {
    const arrived = [
      parked(0, { batteryPercent: 60 }),
      heartbeatAt(60, { batteryPercent: 15 }),
      heartbeatAt(90, { signal: 3 }),
      parked(50, { batteryPercent: 21 }),
      heartbeatAt(120, { batteryPercent: 14 }),
    ];
    expect(findings(...arrived)).toEqual(['60 low_battery']);
    expect(locations(...arrived)[3]).toMatchObject({ batteryPercent: 15, signal: 3 });
  });

  it('updates values that later heartbeats lack', () => {
    const arrived = [
      parked(0),
      heartbeatAt(60, { batteryPercent: 15 }),
      heartbeatAt(120, { signal: 3 }),
      parked(100, { batteryPercent: 80 }),
      heartbeatAt(180, { signal: 4 }),
    ];
    expect(findings(...arrived)).toEqual(['60 low_battery']);
    expect(locations(...arrived).map(({ batteryPercent }) => batteryPercent)).toEqual([null, 15, 15, 80, 80]);
  });

  it('accepts a state without the times of its values', () => {
    const [, , after] = evaluate(
      partnerReportAt(0, { batteryPercent: 60 }),
      heartbeatAt(30, { ignition: true }),
      parked(70),
    );
    const { latestReadings: _forgotten, ...old } = after?.state ?? unmade();
    const next = heartbeatAt(60, { ignition: false, batteryPercent: 15 });
    const { state } = evaluateHeartbeat(old, next, context, originAt(4), evaluators.rules);
    expect(state.location).toMatchObject({ ignition: false, batteryPercent: 60 });
  });

  it('updates a value that an earlier heartbeat lacks', () => {
    const on = partnerReportAt(0, { ignition: true });
    expect(findings(on, heartbeatAt(60, { signal: 3 }), partnerReportAt(50, { ignition: false }))).toEqual([
      '50 ignition_off',
    ]);
  });

  it('raises no towing for a heartbeat from before the start', () => {
    const start = [partnerReportAt(60, { ignition: null }), partnerReportAt(70, { ignition: null })];
    expect(findings(parked(0), heartbeatAt(30, { ignition: false }), ...start)).toEqual([]);
  });
});

describe('rules', () => {
  it('raise low_battery once for heartbeats below 20 %, until the battery is charged', () => {
    const levels = [60, 21, 20, 15, 10, 80, 12];
    const beats = levels.map((batteryPercent, at) => heartbeatAt((at + 1) * 180, { batteryPercent }));
    expect(findings(parked(0), ...beats)).toEqual(['540 low_battery', '1260 low_battery']);
    expect(evaluate(parked(0), ...beats)[3]?.findings).toMatchObject([
      {
        latitude: 22.5,
        longitude: 114,
        gpsValid: true,
        attributes: { battery_percent: 20 },
        backfilled: false,
      },
    ]);
  });

  it('raise ignition changes of heartbeats without positions', () => {
    const acc = (second: number, ignition: boolean | null) => heartbeatAt(second, { ignition });
    expect(
      findings(parked(0), acc(60, false), acc(120, null), acc(180, true), acc(240, true), acc(300, false)),
    ).toEqual(['180 ignition_on', '300 ignition_off']);
  });

  it('mark findings of late heartbeats as backfilled', () => {
    const late = heartbeatAt(60, { batteryPercent: 15, receivedAtMs: startMs + 60_000 + 300_001 });
    expect(evaluate(parked(0), late)[1]?.findings).toMatchObject([{ type: 'low_battery', backfilled: true }]);
  });
});
