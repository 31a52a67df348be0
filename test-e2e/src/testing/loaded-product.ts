import { selfSigned } from '@fleet/testing';
import { expect } from '@jest/globals';
import { AlarmReceiver } from './alarm-receiver.ts';
import { AlarmedVehicle } from './alarmed-vehicle.ts';
import { CommandLoad, type TimedCall } from './command-load.ts';
import { waitUntilHealthy } from './faults.ts';
import { countStatuses, Fleet } from './fleet.ts';
import { type DedicatedHarness, startHarness } from './harness.ts';
import { expectAlarmsDespite, recoveryMs, waitForLocations } from './node-loss.ts';
import { PlatformClient } from './platform-client.ts';

const terminals = 10;
/** Commands are sent for this long after the alarms have arrived. */
const loadMs = 10_000;

/** A product with terminals, commands and a vehicle whose alarms reach a webhook, for tests that kill a server. */
export class LoadedProduct {
  readonly harness: DedicatedHarness;
  readonly fleet: Fleet;
  readonly #client: PlatformClient;
  readonly #vehicle: AlarmedVehicle;
  readonly #receiver: AlarmReceiver;
  readonly #load: CommandLoad;

  private constructor(
    harness: DedicatedHarness,
    client: PlatformClient,
    vehicle: AlarmedVehicle,
    receiver: AlarmReceiver,
    fleet: Fleet,
  ) {
    this.harness = harness;
    this.fleet = fleet;
    this.#client = client;
    this.#vehicle = vehicle;
    this.#receiver = receiver;
    this.#load = new CommandLoad(fleet);
  }

  /** Starts the product with the settings of its servers. */
  static async start(settings: Record<string, string>): Promise<LoadedProduct> {
    const receiver = await AlarmReceiver.start(selfSigned());
    const harness = await startHarness({
      ...receiver.settings,
      ...settings,
      DEVICE_REPLY_TIMEOUT_MS: '20000',
      REQUEST_TIMEOUT_MS: '25000',
      RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
      RATE_LIMIT_PLATFORM_BURST: '10000',
    });
    const client = await PlatformClient.logIn(harness);
    await client.requestData('/user-webhooks', { url: receiver.url });
    const vehicle = await AlarmedVehicle.start(harness, client, 'loaded');
    await vehicle.report();
    return new LoadedProduct(harness, client, vehicle, receiver, await Fleet.start(harness, terminals));
  }

  async stop(): Promise<void> {
    await this.harness.stop();
    await this.#receiver.stop();
  }

  /** Runs a fault between alarms and beside commands; returns the commands once each alarm has arrived. */
  callDuring(fault: () => Promise<void>): Promise<TimedCall[]> {
    const alarmed = { client: this.#client, vehicle: this.#vehicle, receiver: this.#receiver };
    return this.#load.during(() => expectAlarmsDespite(fault, alarmed), loadMs);
  }

  /** Throws unless every terminal responds again and every acknowledged report is stored. */
  async assertRecovered(): Promise<void> {
    await waitUntilHealthy(this.harness, recoveryMs);
    expect(countStatuses(await this.#load.sendRound())).toEqual({ 200: terminals });
    await this.fleet.waitUntilAcknowledged();
    const { lost, storedCount } = await this.fleet.compareWithJetStream();
    expect(lost).toEqual([]);
    const locations = await waitForLocations(this.#client, this.#vehicle);
    process.stdout.write(`${storedCount} reports acknowledged, 0 lost; ${locations} locations in the history\n`);
  }
}
