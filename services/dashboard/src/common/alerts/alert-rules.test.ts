import { describe, expect, it } from '@jest/globals';
import { type AlertEvent, AlertRules, burstMs, isAnnounced } from './alert-rules.ts';

const event = (id: number, more: Partial<AlertEvent> = {}): AlertEvent => ({
  id,
  version: 1,
  title: 'SOS',
  severity: 'critical',
  vehicle_id: 7,
  vehicle_no: 'KL07CD1234',
  notification_type: 'sos',
  acknowledged_at: null,
  backfilled: false,
  ...more,
});

describe('a new event', () => {
  it('is announced once, although a reconnect repeats it', () => {
    const rules = new AlertRules();
    expect([event(1), event(1), event(2)].map((each) => rules.isNew(each))).toEqual([true, false, true]);
  });

  it('is no change, no acknowledged and no late event', () => {
    const rules = new AlertRules();
    const others = [
      event(1, { version: 2 }),
      event(2, { acknowledged_at: '2026-01-22' }),
      event(3, { backfilled: true }),
    ];
    expect(others.map((each) => rules.isNew(each))).toEqual([false, false, false]);
  });
});

describe('the sound', () => {
  it('plays once for a burst of critical events', () => {
    const rules = new AlertRules();
    const times = [0, 100, burstMs - 1, burstMs, burstMs + 1];
    expect(times.map((nowMs) => rules.takeSound(event(1), nowMs))).toEqual([true, false, false, true, false]);
  });

  it('does not play for warnings', () => {
    expect(new AlertRules().takeSound(event(1, { severity: 'warning' }), 0)).toBe(false);
  });
});

describe('a notification of the browser', () => {
  it('appears for critical events in quiet hours too, for warnings outside of them, and never for others', () => {
    const nowMs = Date.parse('2026-01-22T12:30:00Z');
    const noon = { from: '12:00', to: '13:00' };
    const announced = (severity: string, hours: typeof noon | null) => isAnnounced({ severity }, nowMs, hours, 'UTC');
    expect([announced('critical', noon), announced('warning', noon)]).toEqual([true, false]);
    expect([announced('warning', null), announced('info', null)]).toEqual([true, false]);
  });
});
