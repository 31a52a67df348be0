import { additionalItemDefinitions, editions } from '@fleet/jt808';
import { propertyRuns, propertySettings } from '@fleet/testing';
import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { context, reportOf, type Sketch } from '../../testing/alarm-rule-harness.ts';
import { dedupeKeyOf } from '../rule.ts';
import type { AlarmState } from './alarm-state.ts';
import { currentAlarms } from './current-alarms.ts';
import { terminalAlarms } from './terminal-alarms.ts';

fc.configureGlobal(propertySettings);

const ids = Object.values(additionalItemDefinitions).map(({ id }) => id);
const lengths = [0, 1, 2, 3, 4, 5, 6, 7, 25, 31, 38, 41, 47, 50, 51, 65, 70, 71];

const anyExtra = fc.oneof(
  fc.record({ id: fc.constantFrom(...ids), bytes: bytesOf(fc.constantFrom(...lengths)) }),
  fc.record({ id: fc.integer({ min: 0, max: 255 }), bytes: bytesOf(fc.integer({ min: 0, max: 255 })) }),
);

function bytesOf(length: fc.Arbitrary<number>): fc.Arbitrary<Buffer> {
  return length.chain((size) => fc.uint8Array({ minLength: size, maxLength: size }).map((bytes) => Buffer.from(bytes)));
}

const anySketch: fc.Arbitrary<Sketch> = fc.record({
  at: fc.integer({ min: 0, max: 3000 }),
  bits: fc.subarray(Array.from({ length: 32 }, (_none, bit) => bit)),
  extras: fc.array(anyExtra, { maxLength: 4 }),
  edition: fc.constantFrom(...editions, 'partner' as const),
  isLate: fc.boolean(),
  backfilled: fc.boolean(),
  statusWord: fc.nat(0xffff_ffff),
});

const frozen = <T>(value: T): T => {
  if (typeof value === 'object' && value !== null && !Buffer.isBuffer(value)) {
    for (const each of Object.values(value)) frozen(each);
    Object.freeze(value);
  }
  return value;
};

it('never throw, are deterministic, and do not change the state in place, whatever a terminal sends', () => {
  fc.assert(
    fc.property(fc.array(anySketch, { maxLength: 12 }), (sketches) => {
      let state: AlarmState | undefined;
      for (const sketch of sketches) {
        const report = frozen(reportOf(sketch));
        const outcome = terminalAlarms.step(frozen(state), report, frozen(context));
        expect(terminalAlarms.step(state, report, context)).toEqual(outcome);
        expect(currentAlarms(report)).toEqual([...new Set(currentAlarms(report))]);
        state = outcome.state === undefined ? undefined : (JSON.parse(JSON.stringify(outcome.state)) as AlarmState);
        expect(state).toEqual(outcome.state);
      }
    }),
    { numRuns: propertyRuns(300) },
  );
});

it('amend only raised notifications, and raise none twice', () => {
  fc.assert(
    fc.property(fc.array(anySketch, { maxLength: 20 }), (sketches) => {
      const raised = new Set<string>();
      let state: AlarmState | undefined;
      const inOrder = sketches.toSorted((left, right) => left.at - right.at);
      for (const sketch of inOrder) {
        const outcome = terminalAlarms.step(state, reportOf({ ...sketch, isLate: false }), context);
        state = outcome.state;
        for (const each of outcome.findings) {
          const key = dedupeKeyOf(context.vehicle.imei, each);
          expect(raised).not.toContain(key);
          raised.add(key);
        }
        for (const { dedupeKey } of outcome.updates) expect(raised).toContain(dedupeKey);
      }
    }),
    { numRuns: propertyRuns(300) },
  );
});
