import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bus,
  callUseCase,
  ensureStreams,
  eventHeaders,
  eventSubject,
  grantUpload,
  headers,
  openBus,
  removeUploadFiles,
} from '@fleet/bus';
import { createLogger, type Logger } from '@fleet/service-kit';
import {
  type Clip,
  claimDevice,
  connectRedis,
  createReservation,
  type Database,
  heartbeatGateway,
  openDatabase,
  type Redis,
  releaseDevice,
  type UploadRecord,
  UploadRepository,
} from '@fleet/storage';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { Client } from 'basic-ftp';
import { loadConfig } from '../config.ts';
import { create, type Overrides, type UploadService } from '../service.ts';
import { RawControl } from './raw-control.ts';

const silent = createLogger('upload-ftp-test', 'silent');
let lastImei = Math.trunc(Math.random() * 1e9) * 1000;
/** Passive ports are not shared between test workers, because one test uses up its range. */
const passivePortsPerWorker = 640;
const firstPassivePort = 27_200 + ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % 4) * passivePortsPerWorker;

/** An upload with the data that its camera knows. */
export interface GrantedUpload {
  readonly id: string;
  readonly imei: string;
  readonly serial: number;
  readonly username: string;
  readonly password: string;
}

/** The service with its own backends. The test acts as the other services, device-api and a gateway. */
export class UploadHarness {
  readonly podId = `pod-${randomBytes(4).toString('hex')}`;
  readonly clipsDir = mkdtempSync(join(tmpdir(), 'fleet-clips-'));
  readonly nats: ServerProcess;
  readonly redisServer: ServerProcess;
  readonly bus: Bus;
  readonly redis: Redis;
  readonly database: Database;
  readonly records: UploadRepository;
  readonly #mongodbUrl: string;
  readonly #env: Record<string, string>;
  readonly #overrides: Overrides;
  readonly #clients: Client[] = [];
  readonly #raws: RawControl[] = [];
  service!: UploadService;
  #serial = Math.trunc(Math.random() * 30_000);

  private constructor(deps: {
    nats: ServerProcess;
    redisServer: ServerProcess;
    bus: Bus;
    redis: Redis;
    mongodbUrl: string;
    env: Record<string, string>;
    overrides: Overrides;
  }) {
    this.nats = deps.nats;
    this.redisServer = deps.redisServer;
    this.bus = deps.bus;
    this.redis = deps.redis;
    this.#mongodbUrl = deps.mongodbUrl;
    this.database = openDatabase(deps.mongodbUrl, { appName: 'upload-ftp-test' });
    this.records = new UploadRepository(this.database);
    this.#env = deps.env;
    this.#overrides = deps.overrides;
  }

  static async start(
    env: Record<string, string> = {},
    overrides: Overrides = {},
    mongo?: ServerProcess,
  ): Promise<UploadHarness> {
    const [nats, redisServer] = await Promise.all([ServerProcess.nats(), ServerProcess.redis()]);
    await Promise.all([nats.start(), redisServer.start()]);
    const bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'upload-ftp-test', log: silent });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
    const redis = await connectRedis(`redis://127.0.0.1:${redisServer.port}`, {
      name: 'upload-ftp-test',
      onError: () => undefined,
    });
    const url = new URL(mongo === undefined ? testEnv('MONGODB_URL') : `mongodb://127.0.0.1:${mongo.port}/`);
    url.pathname = `/upload_ftp_${randomBytes(6).toString('hex')}`;
    const harness = new UploadHarness({ nats, redisServer, bus, redis, mongodbUrl: url.href, env, overrides });
    await harness.records.ensureIndexes();
    await harness.startService();
    return harness;
  }

  get natsUrl(): string {
    return `nats://127.0.0.1:${this.nats.port}`;
  }

  /** Returns the environment of the service. */
  buildEnv(more: Record<string, string> = {}): Record<string, string> {
    const firstPort = firstPassivePort + Math.trunc(Math.random() * (passivePortsPerWorker - 61));
    return {
      NATS_URL: this.natsUrl,
      REDIS_URL: `redis://127.0.0.1:${this.redisServer.port}`,
      MONGODB_URL: this.#mongodbUrl,
      CLIPS_DIR: this.clipsDir,
      HTTP_PORT: '0',
      ADMIN_PORT: '0',
      FTP_PORT: '0',
      ATTACHMENT_PORT: '0',
      FTP_PASV_MIN: String(firstPort),
      FTP_PASV_MAX: String(firstPort + 60),
      POD_ID: this.podId,
      CLIPS_MIN_FREE_BYTES: '0',
      FTP_STOP_GRACE_MS: '2000',
      UPLOAD_SWEEP_MS: '100',
      DEVICE_REPLY_TIMEOUT_MS: '2000',
      ...this.#env,
      ...more,
    };
  }

  async startService(more: Record<string, string> = {}, log: Logger = silent): Promise<void> {
    this.service = await create(loadConfig(this.buildEnv(more)), { log, ...this.#overrides });
  }

  async stop(): Promise<void> {
    for (const client of this.#clients) client.close();
    for (const raw of this.#raws) raw.socket.destroy();
    await this.service.stop();
    await this.database.db.dropDatabase().catch(() => undefined);
    await this.database.close();
    this.redis.destroy();
    await this.bus.close();
    await Promise.all([this.nats.remove(), this.redisServer.remove()]);
    rmSync(this.clipsDir, { recursive: true, force: true });
  }

  /** Reserves an upload like device-api and stores its clip. */
  async reserve(more: Partial<UploadRecord> = {}, clipMore: Partial<Clip> = {}): Promise<UploadRecord> {
    lastImei += 1;
    const clip: Clip = {
      imei: String(lastImei),
      channel: 1,
      startMs: Date.UTC(2026, 0, 31, 8, 0, 0),
      endMs: Date.UTC(2026, 0, 31, 8, 1, 0),
      mediaType: 3,
      streamType: 0,
      storageType: 0,
      alarmFlags: '0',
      ...clipMore,
    };
    const number = clip.imei.padStart(12, '0');
    const record: UploadRecord = {
      ...createReservation(clip, {
        shownImei: number,
        askedImei: number,
        cameraUtcOffset: '+08:00',
        reservedUntilMs: Date.now() + 100_000,
        mobileNetwork: true,
      }),
      ...more,
    };
    if (!(await this.records.reserve(record))) throw new Error('reserved already');
    return record;
  }

  grantUpload(id: string) {
    return callUseCase(this.bus, grantUpload, { uploadId: id }, { timeoutMs: 10_000 });
  }

  /** Creates an upload that the camera has accepted. */
  async createGrantedUpload(more: Partial<UploadRecord> = {}): Promise<GrantedUpload> {
    const record = await this.reserve(more);
    const { username, password } = await this.grantUpload(record._id);
    this.#serial += 1;
    const serial = this.#serial;
    await this.records.lockCamera(record.clip.imei, record._id, record.reservedUntilMs);
    await this.records.transition(record._id, ['reserved'], 'uploading', { commandSerialNo: serial });
    return { id: record._id, imei: record.clip.imei, serial, username, password };
  }

  async readRecord(id: string): Promise<UploadRecord> {
    const record = await this.records.find(id);
    if (record === null) throw new Error('no such upload');
    return record;
  }

  /** Waits until an upload's record satisfies the condition. */
  async waitForRecord(id: string, condition: (record: UploadRecord) => boolean): Promise<UploadRecord> {
    let record = await this.readRecord(id);
    await waitFor(async () => {
      record = await this.readRecord(id);
      return condition(record);
    });
    return record;
  }

  /** Publishes a 0x1206 like a gateway. */
  async publishUploadResult(imei: string, serial: number, code: number, receivedAtMs = Date.now()): Promise<void> {
    const body = Buffer.alloc(3);
    body.writeUInt16BE(serial, 0);
    body.writeUInt8(code, 2);
    const head = headers();
    head.set(eventHeaders.edition, '2013');
    head.set(eventHeaders.receivedAtMs, String(receivedAtMs));
    await this.bus.js.publish(eventSubject(imei, 0x1206), body, { headers: head });
  }

  removeFiles(id: string) {
    return callUseCase(this.bus, removeUploadFiles(this.podId), { uploadId: id }, { timeoutMs: 10_000 });
  }

  /** Connects a device with a session. Call the returned function to disconnect it. */
  async connectDevice(imei: string): Promise<() => Promise<void>> {
    const sessionId = randomBytes(8).toString('hex');
    const nowMs = Date.now();
    await claimDevice(this.redis, imei, {
      sessionId,
      podId: 'gateway-test',
      phone: imei.padStart(12, '0'),
      edition: '2013',
      onlineSinceMs: nowMs,
      lastSeenMs: nowMs,
      remoteAddress: '127.0.0.1:1',
    });
    await heartbeatGateway(this.redis, 'gateway-test');
    const alive = setInterval(() => {
      heartbeatGateway(this.redis, 'gateway-test').catch(() => undefined);
    }, 2_000);
    alive.unref();
    return async () => {
      clearInterval(alive);
      await releaseDevice(this.redis, imei, sessionId);
    };
  }

  /** Opens a camera's FTP client and logs it in. */
  async camera(upload: { username: string; password: string }): Promise<Client> {
    const client = new Client(20_000);
    this.#clients.push(client);
    await client.access({
      host: '127.0.0.1',
      port: this.service.ftpPort,
      user: upload.username,
      password: upload.password,
    });
    return client;
  }

  /** Opens a camera's raw control connection; logs in if an upload is given. */
  async raw(upload?: { username: string; password: string }): Promise<RawControl> {
    const control = new RawControl(this.service.ftpPort);
    this.#raws.push(control);
    await control.expectReply(220);
    if (upload === undefined) return control;
    await control.sendCommand(`USER ${upload.username}`, 331);
    await control.sendCommand(`PASS ${upload.password}`, 230);
    return control;
  }

  path(upload: { imei: string; id: string }, file: string): string {
    return join(this.clipsDir, upload.imei, upload.id, 'files', file);
  }

  read(upload: { imei: string; id: string }, file: string): Buffer {
    return readFileSync(this.path(upload, file));
  }

  hasDirectory(upload: { imei: string; id: string }): boolean {
    return existsSync(join(this.clipsDir, upload.imei, upload.id));
  }

  /** Lists the files below the clips directory that this process has open. */
  openFiles(): string[] {
    return readdirSync('/proc/self/fd').flatMap((fd) => {
      try {
        const target = readlinkSync(`/proc/self/fd/${fd}`);
        return target.startsWith(this.clipsDir) ? [target] : [];
      } catch {
        // The descriptor was closed concurrently.
        return [];
      }
    });
  }

  async metric(name: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${this.service.adminPort}/metrics`);
    const lines = (await response.text()).split('\n');
    return lines.filter((line) => line.startsWith(name)).join('\n');
  }
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Generates pseudo-random bytes, the same for each seed. */
export function clipBytes(count: number, seed = 1): Buffer {
  const bytes = Buffer.alloc(count);
  let state = seed >>> 0;
  for (let index = 0; index < count; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
}
