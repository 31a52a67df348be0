import { fleetChanged, openBus, subscribe } from '@fleet/bus';
import { openDatabase } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

it('completes running requests and publishes their changes to other replicas', async () => {
  const harness = await PlatformHarness.open();
  const { log, config } = harness.deps;
  // The harness has closed its own connection by then.
  const database = openDatabase(config.MONGODB_URL, { appName: 'stop-test' });
  const other = await openBus(`nats://127.0.0.1:${harness.nats.port}`, { name: 'another replica', log });
  const received: string[] = [];
  const recorder = subscribe(
    other,
    fleetChanged,
    () => undefined,
    ({ kind }) => received.push(kind),
  );
  await other.nc.flush();
  const nextId = harness.records.nextId.bind(harness.records);
  let resume: (() => void) | undefined;
  const slow = jest.spyOn(harness.records, 'nextId').mockImplementation(async (...args) => {
    if (resume === undefined) await new Promise<void>((resolve) => (resume = resolve));
    return nextId(...args);
  });
  try {
    const creating = harness.as(harness.ours.owner).post('/api/drivers', { name: 'Under way' });
    await waitFor(() => resume !== undefined);
    const stopping = harness.service.stop();
    // The service accepts no more requests.
    await waitFor(() =>
      fetch(`${harness.base}/livez`).then(
        () => false,
        () => true,
      ),
    );
    resume?.();
    expect(await creating).toMatchObject({ status: 201 });
    await stopping;
    await other.nc.flush();
    expect(received).toEqual(['drivers']);
  } finally {
    slow.mockRestore();
    recorder.stop();
    await other.close();
    await harness.service.stop();
    await database.db.dropDatabase();
    await database.close();
    await harness.nats.remove();
  }
});
