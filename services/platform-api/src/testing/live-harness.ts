import { type LiveEvent, liveEvents, liveSubject, publish } from '@fleet/bus';
import { expect } from '@jest/globals';
import type { ClientOptions } from 'ws';
import { create, type PlatformApi } from '../assembly/service.ts';
import { LiveClient } from './live-client.ts';
import { type Client, PlatformHarness, type TestUser } from './platform-harness.ts';

/** A platform-api with a second replica, and clients of their websockets. */
export class LiveHarness {
  readonly harness: PlatformHarness;
  readonly replica: PlatformApi;
  /** The owner of the first tenant. */
  readonly owner: Client;
  readonly #clients: LiveClient[] = [];
  // Unique to this run, because all tests share a Redis.
  readonly #run = String(process.hrtime.bigint() % 100_000_000n).padStart(8, '0');
  #vehicles = 0;
  #notifications = 1_000_000;

  private constructor(harness: PlatformHarness, replica: PlatformApi) {
    this.harness = harness;
    this.replica = replica;
    this.owner = harness.as(harness.ours.owner);
  }

  static async open(): Promise<LiveHarness> {
    const harness = await PlatformHarness.open();
    return new LiveHarness(harness, await create(harness.deps.config, { log: harness.deps.log, runsJobs: false }));
  }

  get base(): string {
    return this.harness.base;
  }

  get replicaBase(): string {
    return `http://127.0.0.1:${this.replica.httpPort}`;
  }

  async newVehicle(client: Client = this.owner): Promise<{ id: number; imei: string }> {
    this.#vehicles += 1;
    const imei = `1${this.#run}${String(this.#vehicles).padStart(3, '0')}`;
    const { status, data } = await client.post('/api/vehicles', { vehicle_no: `WS${this.#vehicles}`, imei });
    expect(status).toBe(201);
    return { id: data.id, imei };
  }

  async tokenOf(user: TestUser): Promise<string> {
    const { status, body } = await this.harness.as(user).get('/api/user/generate-websocket-token');
    expect(status).toBe(200);
    return (body as { token: string }).token;
  }

  /** Opens a connection with a query, whether it is accepted or not. */
  async connect(query: string, options: ClientOptions & { base?: string } = {}): Promise<LiveClient> {
    const { base = this.base, ...more } = options;
    const client = await LiveClient.open(base, query, more);
    this.#clients.push(client);
    return client;
  }

  /** Opens a connection and waits for its snapshot. */
  async ready(query: string, base = this.base): Promise<LiveClient> {
    const client = await this.connect(query, { base });
    await client.until(() => client.of('snapshot').some(({ data }) => data['final'] === true));
    expect(client.closed).toBeUndefined();
    return client;
  }

  /** Opens a connection of a user and waits for its snapshot. */
  async as(user: TestUser, base = this.base): Promise<LiveClient> {
    return this.ready(`?token=${await this.tokenOf(user)}`, base);
  }

  /** Publishes events as the telemetry role does. */
  publish(vehicleId: number, events: readonly TestEvent[], accountId = this.harness.ours.accountId): void {
    const full = events.map((event) => ({ vehicleId, atMs: Date.now(), ...event }));
    publish(this.harness.bus, liveEvents, { accountId, events: full }, liveSubject(accountId));
  }

  location(of: { id: number; imei?: string }, more: object = {}): TestEvent {
    const { id, imei = '' } = of;
    const position = { latitude: 1, longitude: 2, speed: 3, course: 4, timestamp: Date.now() };
    return { type: 'location', vehicleId: id, data: { vehicle_id: id, imei, driver_id: 7, ...position, ...more } };
  }

  notification(vehicleId: number, type = 'sos'): TestEvent {
    this.#notifications += 1;
    const record = { id: this.#notifications, version: 1, notification_type: type, vehicle_id: vehicleId };
    const more = { driver_id: 7, attributes: { driver_name: 'Ann', count: 1 }, user: this.harness.ours.owner.id };
    return { type: 'notification', vehicleId, data: { ...record, ...more } };
  }

  /** Closes the clients of a test. */
  hangUp(): void {
    for (const { ws } of this.#clients.splice(0)) ws.terminate();
  }

  async close(): Promise<void> {
    this.hangUp();
    await this.replica.stop();
    await this.harness.close();
  }
}

/** An event of the vehicle passed to `publish`, unless it has a vehicle of its own. */
export type TestEvent = Pick<LiveEvent, 'type' | 'data'> & Partial<LiveEvent>;
