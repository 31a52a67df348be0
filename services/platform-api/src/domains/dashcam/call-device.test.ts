import { BusError, type RequestOptions } from '@fleet/bus';
import { describe, expect, it } from '@jest/globals';
import { callDevice, withDeadline } from './call-device.ts';

describe('the calls of one request', () => {
  it('share its deadline, which is below the time-out of the route', async () => {
    const trace = withDeadline({ correlationId: 'test' });
    const timeouts: number[] = [];
    const call = async ({ timeoutMs }: RequestOptions): Promise<void> => void timeouts.push(timeoutMs ?? 0);
    await callDevice(call, trace);
    await callDevice(call, { ...trace, deadlineAtMs: (trace.deadlineAtMs ?? 0) - 80_000 });
    expect(timeouts[0]).toBeLessThanOrEqual(91_000);
    expect(timeouts[0]).toBeGreaterThan(60_000);
    expect(timeouts[1]).toBeLessThanOrEqual(11_000);
  });

  it('end with 504 once no time is left, and nothing is sent', async () => {
    let calls = 0;
    const call = async (): Promise<void> => void (calls += 1);
    const trace = { correlationId: 'test', deadlineAtMs: performance.now() };
    await expect(callDevice(call, trace)).rejects.toMatchObject({ status: 504, code: 'device_timeout' });
    expect(calls).toBe(0);
  });

  it('end with 504 if device-api does not reply in time, and with 503 if it is unavailable', async () => {
    const failWith = (kind: 'timedOut' | 'noResponders') =>
      callDevice(() => Promise.reject(new BusError(kind, kind)), { correlationId: 'test' });
    await expect(failWith('timedOut')).rejects.toMatchObject({ code: 'device_timeout' });
    await expect(failWith('noResponders')).rejects.toMatchObject({ code: 'unavailable' });
  });
});
