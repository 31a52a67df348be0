import { NatsCluster, selfSigned } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { AlarmReceiver } from './testing/alarm-receiver.ts';
import { AlarmedVehicle } from './testing/alarmed-vehicle.ts';
import { CommandLoad, formatCommandFigures } from './testing/command-load.ts';
import { waitUntilHealthy } from './testing/faults.ts';
import { countStatuses, Fleet, findFaults } from './testing/fleet.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';
import { expectAlarmsDespite, recoveryMs, waitForLocations } from './testing/node-loss.ts';
import { PlatformClient } from './testing/platform-client.ts';

const terminals = 10;
/** Commands are sent for this long after the alarms have arrived. */
const loadMs = 10_000;
/** No command may fail later: an election takes seconds, and a command waits for its device. */
const electionMs = 30_000;

let cluster: NatsCluster;
let receiver: AlarmReceiver;
let harness: DedicatedHarness;
let client: PlatformClient;
let fleet: Fleet;
let load: CommandLoad;
let vehicle: AlarmedVehicle;

beforeAll(async () => {
  cluster = await NatsCluster.start();
  receiver = await AlarmReceiver.start(selfSigned());
  harness = await startHarness({
    ...receiver.settings,
    NATS_URL: cluster.url,
    JETSTREAM_REPLICAS: '3',
    DEVICE_REPLY_TIMEOUT_MS: '20000',
    REQUEST_TIMEOUT_MS: '25000',
    RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
    RATE_LIMIT_PLATFORM_BURST: '10000',
  });
  client = await PlatformClient.logIn(harness);
  await client.requestData('/user-webhooks', { url: receiver.url });
  vehicle = await AlarmedVehicle.start(harness, client, 'cluster');
  await vehicle.report();
  fleet = await Fleet.start(harness, terminals);
  load = new CommandLoad(fleet);
}, 300_000);

afterAll(async () => {
  await harness?.stop();
  await receiver?.stop();
  await cluster?.remove();
}, 120_000);

describe('the loss of one of three NATS servers', () => {
  it.each([0, 1, 2])(
    'loses nothing acknowledged and fails commands only in the election: server %i',
    async (index) => {
      let killedAtMs = 0;
      const kill = async (): Promise<void> => {
        killedAtMs = performance.now();
        await cluster.kill(index);
      };
      const calls = await load.during(() => expectAlarmsDespite(kill, { client, vehicle, receiver }), loadMs);
      process.stdout.write(`NATS server ${index} killed: ${formatCommandFigures(calls, killedAtMs)}\n`);
      expect(findFaults(calls, [200, 502, 503, 504])).toEqual([]);
      expect(calls.filter(({ status, atMs }) => status !== 200 && atMs > killedAtMs + electionMs)).toEqual([]);
      await waitUntilHealthy(harness, recoveryMs);
      expect(countStatuses(await load.sendRound())).toEqual({ 200: terminals });
      await fleet.waitUntilAcknowledged();
      const { lost, storedCount } = await fleet.compareWithJetStream();
      expect(lost).toEqual([]);
      const locations = await waitForLocations(client, vehicle);
      process.stdout.write(`${storedCount} reports acknowledged, 0 lost; ${locations} locations in the history\n`);
      await cluster.restart(index);
    },
    400_000,
  );
});
