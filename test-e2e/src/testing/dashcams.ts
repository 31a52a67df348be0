import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { type ProductHarness, type TerminalSetup, uniquePhone } from './harness.ts';
import type { Person } from './person.ts';
import { PlatformClient, type PlatformRecord } from './platform-client.ts';

/** A vehicle with a connected terminal. */
export interface Dashcam {
  readonly vehicleId: number;
  readonly imei: string;
  readonly terminal: SimulatedTerminal;
}

/** Vehicles of the demo account with simulated terminals. */
export class Dashcams {
  readonly #harness: ProductHarness;
  /** Calls as the owner of the account. */
  readonly client: PlatformClient;

  private constructor(harness: ProductHarness, client: PlatformClient) {
    this.#harness = harness;
    this.client = client;
  }

  static async open(harness: ProductHarness): Promise<Dashcams> {
    return new Dashcams(harness, await PlatformClient.logIn(harness));
  }

  /** Creates a vehicle whose terminal is connected; `more` are fields of the vehicle. */
  create(more: object = {}, setup: TerminalSetup = {}): Promise<Dashcam> {
    return this.#create((vehicle) => this.client.requestData('/vehicles', vehicle), more, setup);
  }

  /** The same for a user of any account. */
  createFor(person: Person, more: object = {}, setup: TerminalSetup = {}): Promise<Dashcam> {
    return this.#create((vehicle) => person.request('POST', '/vehicles', vehicle), more, setup);
  }

  async #create(
    save: (vehicle: object) => Promise<PlatformRecord>,
    more: object,
    setup: TerminalSetup,
  ): Promise<Dashcam> {
    const imei = uniquePhone(setup.edition === '2019' ? 20 : 12);
    const { id } = await save({ vehicle_no: `D ${imei.slice(-12)}`, imei, ...more });
    const terminal = await this.#harness.startTerminal({ phone: imei, ...setup });
    return { vehicleId: Number(id), imei, terminal };
  }

  /** Waits until the product receives live video of channel 1: the camera sends before its first packet is read. */
  async waitUntilStreaming({ vehicleId }: Dashcam): Promise<void> {
    const path = `/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&autoStart=false`;
    const isStreaming = async (): Promise<boolean> =>
      (await this.client.requestData(path).catch(() => undefined))?.['status'] === 'streaming';
    await waitFor(isStreaming, 'the stream', 60_000);
  }

  /** Creates a share link of a vehicle and opens it as a guest; returns what the link shows. */
  async openLink(vehicleId: number, permissions: readonly string[]): Promise<PlatformRecord & { readonly id: number }> {
    const link = { vehicle_id: vehicleId, expires_in_hours: 1, permissions };
    const { id, slug } = await this.client.requestData('/share-links', link);
    const url = `${this.#harness.product.runtime.base_url}/api/public/share-links/${String(slug)}`;
    const { data } = (await (await fetch(url)).json()) as { data: PlatformRecord };
    return { ...data, id: Number(id) };
  }
}
