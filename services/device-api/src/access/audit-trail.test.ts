import { type Bus, type DeviceAccessEvent, deviceAccessed, ensureStreams, openBus } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';
import { type AuditEvent, AuditOutbox } from './audit-outbox.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('audit-trail-test', 'silent');

async function findStreams(bus: Bus): Promise<void> {
  await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
}

/** Returns the messages of AUDIT in order. */
async function stored(bus: Bus): Promise<DeviceAccessEvent[]> {
  const { streams } = await bus.jetstreamManager();
  const { state } = await streams.info('AUDIT');
  const sequences = Array.from({ length: state.messages }, (_, at) => state.first_seq + at);
  return Promise.all(
    sequences.map(async (seq) => (await streams.getMessage('AUDIT', { seq })).json<DeviceAccessEvent>()),
  );
}

describe('audit events', () => {
  let nats: ServerProcess;
  let bus: Bus;
  beforeEach(async () => {
    nats = await (await ServerProcess.nats()).start();
    bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'audit-trail-test', log });
  });
  afterEach(async () => {
    await bus.close();
    await nats.remove();
  });

  const use = (command: number): AuditEvent => ({
    keyId: 1,
    accountId: 7,
    imei: '13800138000',
    address: '203.0.113.9',
    kind: 'command',
    operation: 'sendControlCommand',
    command,
  });

  it('are stored once, without a consumer and during a broker outage', async () => {
    await findStreams(bus);
    const outbox = new AuditOutbox(bus, log);
    for (let command = 0; command < 100; command += 1) outbox.enqueue(use(command));
    await nats.kill();
    await waitFor(() => !bus.isUp());
    for (let command = 100; command < 300; command += 1) outbox.enqueue(use(command));
    expect(outbox.pending).toBeGreaterThanOrEqual(200);
    await nats.start();
    await waitFor(() => outbox.pending === 0);
    const all = await stored(bus);
    expect(all.map(({ command }) => command).toSorted((a, b) => Number(a) - Number(b))).toEqual(
      Array.from({ length: 300 }, (_, command) => command),
    );
    expect(all.every((one) => deviceAccessed.check(one))).toBe(true);
    expect(outbox.dropped).toBe(0);
    await outbox.stop();
  });

  it('wait for a missing stream, and only a few are retried', async () => {
    let sent = 0;
    const spy = bus.nc.subscribe(deviceAccessed.subject, { callback: () => (sent += 1) });
    await bus.nc.flush();
    const outbox = new AuditOutbox(bus, log);
    for (let command = 0; command < 500; command += 1) outbox.enqueue(use(command));
    await waitFor(() => sent >= 64);
    await bus.nc.flush();
    expect(sent).toBeLessThan(500);
    expect(outbox.pending).toBe(500);
    spy.unsubscribe();
    await findStreams(bus);
    await waitFor(() => outbox.pending === 0);
    expect(await stored(bus)).toHaveLength(500);
    await outbox.stop();
  });

  it('are dropped and counted if too many wait, and when the service stops', async () => {
    const outbox = new AuditOutbox(bus, log, { maxPending: 100 });
    for (let command = 0; command < 120; command += 1) outbox.enqueue(use(command));
    expect([outbox.pending, outbox.dropped]).toEqual([100, 20]);
    await outbox.stop();
    expect([outbox.pending, outbox.dropped]).toEqual([0, 120]);
    outbox.enqueue(use(120));
    expect([outbox.pending, outbox.dropped]).toEqual([0, 121]);
  });
});

describe('a command while JetStream is unavailable', () => {
  let harness: DeviceApiHarness;
  let platform: FakePlatform;
  beforeAll(async () => {
    harness = await DeviceApiHarness.open();
    platform = await FakePlatform.start(harness.bus);
  });
  afterAll(async () => {
    await platform.stop();
    await harness.close();
  });

  it('is executed, and recorded once JetStream is back', async () => {
    const api = await harness.startService({ DEVICE_API_AUTH: 'key' });
    const imei = await harness.connectDevice(() => createOutcome(0x8300));
    await (await harness.bus.jetstreamManager()).streams.delete('AUDIT');
    const headers = { 'x-api-key': platform.newKey() };
    const wake = () => api.get(`/wakeup?imei=${imei}`, { headers });
    const metrics = async (): Promise<string> => (await fetch(`${api.adminBase}/metrics`)).text();
    for (let round = 0; round < 3; round += 1) expect((await wake()).status).toBe(200);
    expect(harness.findCommands(imei)).toHaveLength(3);
    expect(await metrics()).toMatch(/^device_api_audit_entries_waiting(\{.*\})? 3$/m);
    await findStreams(harness.bus);
    await waitFor(async () => (await stored(harness.bus)).length === 3);
    expect(await stored(harness.bus)).toMatchObject(
      [1, 2, 3].map(() => ({ imei, kind: 'command', operation: 'wakeUp' })),
    );
    await waitFor(async () => /^device_api_audit_entries_waiting(\{.*\})? 0$/m.test(await metrics()));
    expect(await metrics()).toMatch(/^device_api_audit_entries_dropped_total(\{.*\})? 0$/m);
  });
});
