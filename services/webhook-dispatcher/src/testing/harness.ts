import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Bus,
  encodeJson,
  ensureStreams,
  fleetChanged,
  type NotificationRaised,
  notificationSubject,
  openBus,
  publish,
} from '@fleet/bus';
import { createLogger, Encryption } from '@fleet/service-kit';
import {
  currentHealth,
  type Database,
  type DeliveryRecord,
  openDatabase,
  type WebhookHealth,
  type WebhookRecord,
  WebhookRepository,
  webhookSecretPurpose,
} from '@fleet/storage';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { type Config, loadConfig } from '../config.ts';
import { create, type Overrides, type WebhookDispatcher } from '../service.ts';
import { certificate } from './test-receiver.ts';

const log = createLogger('webhook-dispatcher-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');
const pollIntervalMs = 100;
const encryptionKey = 'test-encryption-key-of-webhook-dispatcher';

/** Short time-outs for tests. */
const fastSettings = {
  WEBHOOK_RETRY_WAITS_MS: '40,60,80,100,120,140,160,180',
  WEBHOOK_OVERLOAD_WAIT_MS: '200',
  WEBHOOK_SWEEP_MS: '50',
  WEBHOOK_BREAKER_OPEN_MS: '300',
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
};

/** Backends of one test, dispatchers, and the part of platform-api. */
export class DispatcherHarness {
  readonly env: Record<string, string>;
  readonly bus: Bus;
  readonly records: WebhookRepository;
  readonly database: Database;
  readonly #encryption = new Encryption(encryptionKey);
  readonly #nats: ServerProcess;
  readonly #dir: string;
  readonly #dispatchers: WebhookDispatcher[] = [];
  #lastId = 0;

  private constructor(nats: ServerProcess, bus: Bus, database: Database, env: Record<string, string>, dir: string) {
    this.#nats = nats;
    this.bus = bus;
    this.database = database;
    this.records = new WebhookRepository(database);
    this.env = env;
    this.#dir = dir;
  }

  static async open(): Promise<DispatcherHarness> {
    const nats = await (await ServerProcess.nats()).start();
    const url = new URL(testEnv('MONGODB_URL'));
    url.pathname = `/dispatcher_${randomBytes(6).toString('hex')}`;
    const dir = mkdtempSync(join(tmpdir(), 'fleet-hooks-'));
    writeFileSync(join(dir, 'ca.pem'), certificate.cert);
    const env = {
      ADMIN_PORT: '0',
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
      REDIS_URL: testEnv('REDIS_URL'),
      MONGODB_URL: url.href,
      ENCRYPTION_KEY: encryptionKey,
      WEBHOOK_CA_FILE: join(dir, 'ca.pem'),
      ...fastSettings,
    };
    const bus = await openBus(env.NATS_URL, { name: 'dispatcher-test', log });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
    return new DispatcherHarness(nats, bus, openDatabase(url.href, { appName: 'dispatcher-test' }), env, dir);
  }

  config(env: Record<string, string> = {}): Config {
    return loadConfig({ ...this.env, ...env });
  }

  /** Starts a dispatcher in this process. */
  async startDispatcher(
    env: Record<string, string> = {},
    overrides: Pick<Overrides, 'resolve' | 'pruneIntervalMs'> = {},
  ): Promise<WebhookDispatcher> {
    const startDispatcher = await create(this.config(env), { log, ...overrides });
    this.#dispatchers.push(startDispatcher);
    return startDispatcher;
  }

  /** Stops the dispatchers of this process. */
  async stopDispatchers(): Promise<void> {
    await Promise.all(this.#dispatchers.splice(0).map((each) => each.stop()));
  }

  /** Creates a webhook, by default of a new user. */
  async createWebhook(url: string, more: Partial<WebhookRecord> & { secret?: string } = {}): Promise<WebhookRecord> {
    this.#lastId += 1;
    const { secret = 'a-secret-of-the-test', ...fields } = more;
    const userId = fields.userId ?? 1_000 + this.#lastId;
    const webhook: WebhookRecord = {
      _id: this.#lastId,
      accountId: 7,
      userId,
      createdAt: new Date(),
      updatedAt: new Date(),
      version: 1,
      url,
      name: null,
      enabled: true,
      notificationTypes: [],
      vehicleIds: [],
      headers: [],
      sealedSecret: this.seal(secret, userId),
      secretHint: secret.slice(-4),
      sealedOldSecret: null,
      graceUntil: null,
      healthEpoch: 0,
      ...fields,
    };
    await this.database.collection<WebhookRecord>('webhooks').insertOne(webhook);
    return webhook;
  }

  /** Changes a webhook as platform-api does. */
  async updateWebhook(createWebhook: WebhookRecord, fields: Partial<WebhookRecord>): Promise<void> {
    await this.database.collection<WebhookRecord>('webhooks').updateOne({ _id: createWebhook._id }, { $set: fields });
    publish(this.bus, fleetChanged, { accountId: createWebhook.accountId, kind: 'webhooks' });
    await this.bus.nc.flush();
  }

  seal(secret: string, userId: number): string {
    return this.#encryption.seal(secret, webhookSecretPurpose(userId));
  }

  /** Publishes a notification of a user; returns its id. */
  async publishNotification(
    ownerUserId: number,
    more: Partial<NotificationRaised['notification']> = {},
    wantedByOwner = true,
  ): Promise<number> {
    this.#lastId += 1;
    const event: NotificationRaised = {
      accountId: 7,
      ownerUserId,
      wantedByOwner,
      notification: createNotification(this.#lastId, more),
    };
    const msgID = `${this.#lastId}`;
    await this.bus.js.publish(notificationSubject(7, '13800138000'), encodeJson(event), { msgID });
    return this.#lastId;
  }

  findDeliveries(webhook: WebhookRecord): Promise<DeliveryRecord[]> {
    return this.database.collection<DeliveryRecord>('webhook_deliveries').find({ webhookId: webhook._id }).toArray();
  }

  /** Attempts in progress. */
  countClaims(): Promise<number> {
    return this.database.collection('webhook_claims').countDocuments({});
  }

  async findDelivery(webhook: WebhookRecord): Promise<DeliveryRecord> {
    const [found] = await this.findDeliveries(webhook);
    if (found === undefined) throw new Error('no delivery exists yet');
    return found;
  }

  /** Waits until the given number of a webhook's deliveries have one of the statuses. */
  async waitForStatuses(
    webhook: WebhookRecord,
    count: number,
    statuses: readonly string[] = ['succeeded'],
  ): Promise<void> {
    const deliveries = this.database.collection<DeliveryRecord>('webhook_deliveries');
    await waitFor(async () => {
      // Continuous polling would use all of the database's time.
      await delay(pollIntervalMs);
      const found = await deliveries.find({ webhookId: webhook._id }, { projection: { status: 1 } }).toArray();
      return found.length === count && found.every(({ status }) => statuses.includes(status));
    });
  }

  async findHealth(webhook: WebhookRecord): Promise<WebhookHealth> {
    const now = await this.records.findWebhook(webhook._id);
    return currentHealth(now ?? webhook, await this.records.findHealth(webhook._id));
  }

  async close(): Promise<void> {
    await this.stopDispatchers();
    await this.bus.close();
    await this.database.db.dropDatabase();
    await this.database.close();
    await this.#nats.remove();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** A notification as platform-api publishes it. */
const createNotification = (
  id: number,
  more: Partial<NotificationRaised['notification']>,
): NotificationRaised['notification'] => ({
  id,
  title: 'SOS',
  description: 'The driver pressed the emergency button.',
  notification_type: 'sos',
  imei: '013800138000',
  timestamp: 1_790_000_000_000,
  server_timestamp: 1_790_000_000_100 + id,
  location: { latitude: 22.5, longitude: 114.01 },
  vehicle_id: 5,
  vehicle_no: 'KL07AB1',
  severity: 'critical',
  attributes: { gps_valid: true },
  backfilled: false,
  ...more,
});
