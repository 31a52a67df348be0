import { fleetChanged, listenFor, openBus } from '@fleet/bus';
import { openDatabase } from '@fleet/storage';
import { expect, it, jest } from '@jest/globals';
import { until } from '../../../libs/service-kit/src/testing/server-process.ts';
import { PlatformWorld } from './testing/platform-world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

it('lets requests under way end with all that they need: what they change is told to other replicas', async () => {
  const world = await PlatformWorld.open();
  const { log, config } = world.deps;
  // The world's own is closed by then.
  const database = openDatabase(config.MONGODB_URL, { appName: 'stop-test' });
  const other = await openBus(`nats://127.0.0.1:${world.nats.port}`, { name: 'another replica', log });
  const heard: string[] = [];
  const ear = listenFor(
    other,
    fleetChanged,
    () => undefined,
    ({ kind }) => heard.push(kind),
  );
  await other.nc.flush();
  const nextId = world.records.nextId.bind(world.records);
  let goOn: (() => void) | undefined;
  const slow = jest.spyOn(world.records, 'nextId').mockImplementation(async (...args) => {
    if (goOn === undefined) await new Promise<void>((resolve) => (goOn = resolve));
    return nextId(...args);
  });
  try {
    const making = world.as(world.ours.owner).post('/api/drivers', { name: 'Under way' });
    await until(() => goOn !== undefined);
    const stopping = world.service.stop();
    // It takes no more requests.
    await until(() =>
      fetch(`${world.base}/livez`).then(
        () => false,
        () => true,
      ),
    );
    goOn?.();
    expect(await making).toMatchObject({ status: 201 });
    await stopping;
    await other.nc.flush();
    expect(heard).toEqual(['drivers']);
  } finally {
    slow.mockRestore();
    ear.stop();
    await other.close();
    await world.service.stop();
    await database.db.dropDatabase();
    await database.close();
    await world.nats.remove();
  }
});
