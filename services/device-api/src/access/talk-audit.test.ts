import { randomBytes } from 'node:crypto';
import type { DeviceAccessEvent } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type OpenTalk, saveOpenTalk } from '../store/open-talks.ts';
import { captureAuditEvents } from '../testing/capture-audit-events.ts';
import { DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

const completionTimeoutMs = 60_000;

let harness: DeviceApiHarness;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  await harness.startService();
  await harness.startService();
});
afterAll(() => harness.close());

const createId = (): string => randomBytes(16).toString('hex');

const createTalk = (): OpenTalk => ({
  start: {
    id: createId(),
    atMs: Date.now(),
    userId: 3,
    accountId: 7,
    imei: randomImei(),
    address: '203.0.113.9',
    kind: 'talk',
    operation: 'talk',
    channel: 1,
  },
  endId: createId(),
  seconds: 42,
});

const findEvents = (events: readonly DeviceAccessEvent[], { start }: OpenTalk): DeviceAccessEvent[] =>
  events.filter(({ imei }) => imei === start.imei);

describe('the talk of a killed process', () => {
  it('is ended once by the others, with its duration until then', async () => {
    const audit = captureAuditEvents(harness.bus);
    const talk = createTalk();
    await saveOpenTalk(harness.redis, talk);
    await waitFor(() => findEvents(audit.events, talk).length === 2, 'both events', completionTimeoutMs);
    const { start, endId } = talk;
    expect(findEvents(audit.events, talk)).toEqual([
      start,
      { ...start, id: endId, kind: 'talkEnd', atMs: start.atMs + 42_000, seconds: 42 },
    ]);
    const isRemoved = async () => (await harness.redis.hLen('{open-talks}:records')) === 0;
    await waitFor(isRemoved, 'the record to be removed', completionTimeoutMs);
    audit.stop();
  });

  it('is not that of a process that still renews it', async () => {
    const audit = captureAuditEvents(harness.bus);
    const [open, orphaned] = [createTalk(), createTalk()];
    let seconds = 0;
    const renew = async (): Promise<void> => saveOpenTalk(harness.redis, { ...open, seconds: (seconds += 1) });
    await saveOpenTalk(harness.redis, orphaned);
    const isCompleted = async (): Promise<boolean> => {
      await renew();
      return findEvents(audit.events, orphaned).length === 2;
    };
    await waitFor(isCompleted, 'the end of the other talk', completionTimeoutMs);
    expect(findEvents(audit.events, open)).toEqual([]);
    audit.stop();
  });
});
