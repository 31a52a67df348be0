import { selfSigned, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AlarmReceiver } from './alarm-receiver.ts';
import { AlarmedVehicle } from './alarmed-vehicle.ts';
import { CommandLoad, formatCommandFigures } from './command-load.ts';
import { waitUntilHealthy } from './faults.ts';
import { countStatuses, Fleet, findFaults } from './fleet.ts';
import { type DedicatedHarness, startHarness } from './harness.ts';
import { expectAlarmsDespite, recoveryMs, waitForLocations } from './node-loss.ts';
import { PlatformClient } from './platform-client.ts';

const terminals = 10;
/** Commands are sent for this long after the failover. */
const loadMs = 10_000;

/** Redis servers, one of which is killed. */
interface RedisServers {
  readonly url: string;
  /** Kills a master with SIGKILL; the returned function waits for its successor. */
  readonly kill: () => Promise<{ readonly waitForFailover: () => Promise<void> }>;
  readonly remove: () => Promise<void>;
}

/** Defines the test that the product loses nothing with a master of Redis. */
export function describeMasterLoss(name: string, startServers: () => Promise<RedisServers>): void {
  let servers: RedisServers;
  let receiver: AlarmReceiver;
  let harness: DedicatedHarness;
  let client: PlatformClient;
  let fleet: Fleet;
  let load: CommandLoad;
  let vehicle: AlarmedVehicle;

  beforeAll(async () => {
    servers = await startServers();
    receiver = await AlarmReceiver.start(selfSigned());
    harness = await startHarness({
      ...receiver.settings,
      REDIS_URL: servers.url,
      DEVICE_REPLY_TIMEOUT_MS: '20000',
      REQUEST_TIMEOUT_MS: '25000',
      RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
      RATE_LIMIT_PLATFORM_BURST: '10000',
    });
    client = await PlatformClient.logIn(harness);
    await client.requestData('/user-webhooks', { url: receiver.url });
    vehicle = await AlarmedVehicle.start(harness, client, 'redis');
    await vehicle.report();
    fleet = await Fleet.start(harness, terminals);
    load = new CommandLoad(fleet);
  }, 300_000);

  afterAll(async () => {
    await harness?.stop();
    await receiver?.stop();
    await servers?.remove();
  }, 120_000);

  describe(`the loss of ${name}`, () => {
    it('loses nothing acknowledged, and the product continues after the failover', async () => {
      let killedAtMs = 0;
      let failedOverMs = 0;
      const kill = async (): Promise<void> => {
        killedAtMs = performance.now();
        const { waitForFailover } = await servers.kill();
        await waitForFailover();
        failedOverMs = performance.now() - killedAtMs;
      };
      const calls = await load.during(() => expectAlarmsDespite(kill, { client, vehicle, receiver }), loadMs);
      process.stdout.write(
        `${name} killed, its successor after ${failedOverMs.toFixed(0)} ms: ` +
          `${formatCommandFigures(calls, killedAtMs)}\n`,
      );
      expect(findFaults(calls, [200, 503, 504])).toEqual([]);
      expect(calls.filter(({ status, atMs }) => status !== 200 && atMs > killedAtMs + recoveryMs)).toEqual([]);
      await waitUntilHealthy(harness, recoveryMs);
      expect(countStatuses(await load.sendRound())).toEqual({ 200: terminals });
      await fleet.waitUntilAcknowledged();
      const { lost, storedCount } = await fleet.compareWithJetStream();
      expect(lost).toEqual([]);
      const locations = await waitForLocations(client, vehicle);
      process.stdout.write(`${storedCount} reports acknowledged, 0 lost; ${locations} locations in the history\n`);
      const [terminal] = fleet.terminals;
      const start = () => harness.get(`/realtime/start-stream?imei=${terminal?.phone}&channel=1`);
      await waitFor(async () => (await start()).status === 200, 'a stream to start', recoveryMs);
    }, 400_000);
  });
}
