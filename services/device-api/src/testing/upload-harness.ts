import { randomBytes } from 'node:crypto';
import {
  type DeviceCommand,
  ensureStreams,
  grantUpload,
  type Outcome,
  removeUploadFiles,
  serveUseCase,
  subscribe,
  uploadRevoked,
} from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { createReservation, type Database, openDatabase, type UploadRecord, UploadRepository } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { type ApiClient, type ApiResponse, DeviceApiHarness, slowBucket } from './harness.ts';

/** Address that the fake upload-ftp sends to cameras. */
export const ftpServer = { host: 'ftp.fleet.example', port: 2121 };
export const ftpPod = 'test-ftp';

const messageIds: Partial<Record<DeviceCommand['kind'], number>> = { requestUpload: 0x9206, controlUpload: 0x9207 };

/** A camera that responds as the test specifies, by default with success. */
export class FakeCamera {
  readonly frames: DeviceCommand[] = [];
  /** Outcome of the next command; undefined: accepted. */
  respond: (command: DeviceCommand) => Promise<Outcome> | Outcome | undefined = () => undefined;
  imei = '';
  #serialNo = 0x0100;

  async handle(command: DeviceCommand): Promise<Outcome> {
    this.frames.push(command);
    this.#serialNo += 1;
    const serialNo = this.#serialNo;
    return (await this.respond(command)) ?? createCameraOutcome(command, 0, serialNo);
  }

  /** Delays commands until the returned function is called. */
  hold(): (outcome?: (command: DeviceCommand) => Outcome) => void {
    let release: (respond: (command: DeviceCommand) => Outcome) => void = () => undefined;
    const held = new Promise<(command: DeviceCommand) => Outcome>((resolve) => {
      release = resolve;
    });
    this.respond = async (command) => (await held)(command);
    return (outcome) => {
      this.respond = () => undefined;
      release(outcome ?? ((command) => createCameraOutcome(command, 0)));
    };
  }

  /** Actions of the received 0x9207. */
  get actions(): number[] {
    return this.frames.flatMap((frame) => (frame.kind === 'controlUpload' ? [frame.control] : []));
  }

  /** Number of received upload requests. */
  get requests(): number {
    return this.frames.filter(({ kind }) => kind === 'requestUpload').length;
  }
}

/** Returns the terminal general response of a camera. */
export const createCameraOutcome = (command: DeviceCommand, result: number | null, serialNo = 0x0200): Outcome => ({
  kind: 'answered',
  answer: { commandMessageId: messageIds[command.kind] ?? 0, commandSerialNo: serialNo, result, message: null },
});

export const rejectWith = (result: number) => (command: DeviceCommand) => createCameraOutcome(command, result);

/** A device-api with its own database, a fake upload-ftp on the real bus, and cameras. */
export class UploadHarness {
  readonly harness: DeviceApiHarness;
  readonly records: UploadRepository;
  readonly databaseUrl: string;
  /** Ids of the uploads whose files were deleted. */
  readonly removed: string[] = [];
  readonly revoked: string[] = [];
  isGranting = true;
  isRemoving = true;
  /** Awaited before the files of an upload are deleted. */
  beforeRemoval: (uploadId: string) => Promise<void> = async () => undefined;
  readonly #database: Database;
  #clients: ApiClient[] = [];

  private constructor(harness: DeviceApiHarness, database: Database, databaseUrl: string) {
    this.harness = harness;
    this.#database = database;
    this.databaseUrl = databaseUrl;
    this.records = new UploadRepository(database);
  }

  static async open(options: { platform?: boolean } = {}): Promise<UploadHarness> {
    const harness = await DeviceApiHarness.open({ platform: options.platform ?? true });
    await ensureStreams(await harness.bus.jetstreamManager(), { replicas: 1 });
    const url = new URL(testEnv('MONGODB_URL'));
    url.pathname = `/device_api_${randomBytes(6).toString('hex')}`;
    const uploads = new UploadHarness(harness, openDatabase(url.href, { appName: 'device-api-test' }), url.href);
    uploads.#serveUploadFtp();
    await harness.bus.nc.flush();
    return uploads;
  }

  #serveUploadFtp(): void {
    const options = { queue: 'upload-ftp', onError: () => undefined };
    serveUseCase(this.harness.bus, grantUpload, options, async ({ uploadId }) => {
      if (!this.isGranting) throw new AppError('unavailable', 'No.');
      await this.records.set(uploadId, ['reserved'], {
        server: { podId: ftpPod, httpUrl: 'http://127.0.0.1:1' },
        credential: { passwordSha256: 'x', expiresAtMs: Date.now() + 60_000 },
      });
      return { ...ftpServer, username: `u${uploadId}`, password: 'secret', path: '/' };
    });
    serveUseCase(this.harness.bus, removeUploadFiles(ftpPod), options, async ({ uploadId }) => {
      const { isRemoving } = this;
      await this.beforeRemoval(uploadId);
      if (!isRemoving) throw new Error('disk');
      this.removed.push(uploadId);
      return {};
    });
    subscribe(
      this.harness.bus,
      uploadRevoked,
      () => undefined,
      ({ uploadId }) => void this.revoked.push(uploadId),
    );
  }

  async startService(env: Record<string, string> = {}): ReturnType<DeviceApiHarness['startService']> {
    const service = await this.harness.startService({ MONGODB_URL: this.databaseUrl, ...slowBucket, ...env });
    this.#clients.push(service);
    const stopService = service.stop.bind(service);
    const stop = (): Promise<void> => {
      this.#clients = this.#clients.filter((client) => client !== service);
      return stopService();
    };
    return Object.assign(service, { stop });
  }

  /** Waits until a number of commands about a device were admitted and had time to read the records. */
  async waitUntilAdmitted(imei: string, commands: number): Promise<void> {
    await this.harness.waitUntilAdmitted(imei, commands);
    for (let round = 0; round < 5; round += 1) {
      await Promise.all(this.#clients.map((client) => client.get(`/videos/list?imei=${imei}`)));
      // Writes run one after another: theirs preceded this one.
      await this.records.set('none', ['reserved'], { filesize: 0 });
    }
  }

  async connectCamera(): Promise<FakeCamera> {
    const camera = new FakeCamera();
    camera.imei = await this.harness.connectDevice(({ command }) => camera.handle(command));
    return camera;
  }

  /** Returns the stored record of an upload, which must exist. */
  async getRecord(id: string): Promise<UploadRecord> {
    const record = await this.records.find(id);
    if (record === null) throw new Error(`upload ${id} does not exist`);
    return record;
  }

  /** Returns every record of a device, including reservations. */
  findRecords(imei: string): Promise<UploadRecord[]> {
    return this.#database.collection<UploadRecord>('uploads').find({ 'clip.imei': imei }).toArray();
  }

  /** Creates an expired reservation, as of a dead process. */
  async createStaleReservation(imei: string, channel: number, startMs: number): Promise<void> {
    const times = { startMs, endMs: startMs + 3_600_000 };
    const clip = { imei, channel, ...times, mediaType: 3, streamType: 0, storageType: 0, alarmFlags: '0' };
    const record = createReservation(clip, {
      shownImei: imei,
      askedImei: imei,
      cameraUtcOffset: '+08:00',
      reservedUntilMs: 1,
      mobileNetwork: true,
    });
    if (await this.records.reserve(record)) await this.records.lockCamera(imei, record._id, 1);
  }

  /** Deletes every record of a device: the embedded database reads all of them for each clip. */
  async deleteRecords(imei: string): Promise<void> {
    await this.#database.collection<UploadRecord>('uploads').deleteMany({ 'clip.imei': imei });
  }

  async close(): Promise<void> {
    await this.harness.close();
    await this.#database.db.dropDatabase();
    await this.#database.close();
  }
}

const formatHour = (of: number): string => `2026-08-01T${String(of).padStart(2, '0')}:00:00Z`;

/** Returns the path that requests a clip; `clip` distinguishes clips of one channel. */
export const uploadPath = (imei: string, { channel = 1, clip = 1, more = '' } = {}): string =>
  `/videos/upload?imei=${imei}&channel=${channel}&start_time=${formatHour(clip)}&end_time=${formatHour(clip + 1)}${more}`;

/** Requests a clip that must be accepted, and returns its id. */
export async function requestClip(
  api: ApiClient,
  camera: FakeCamera,
  options?: Parameters<typeof uploadPath>[1],
): Promise<string> {
  const { status, body } = await api.get(uploadPath(camera.imei, options));
  if (status !== 200) throw new Error(`the upload was not accepted: ${JSON.stringify(body)}`);
  return (body as { video_id: string }).video_id;
}

export const controlClip = (api: ApiClient, id: string, action: number): Promise<ApiResponse> =>
  api.get(`/videos/control?video_id=${id}&action=${action}`);

export const deleteClip = (api: ApiClient, id: string): Promise<ApiResponse> =>
  api.get(`/videos?video_id=${id}`, { method: 'DELETE' });
