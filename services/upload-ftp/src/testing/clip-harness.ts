import { randomBytes, randomInt } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import {
  type ClipFormat,
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  createMetrics,
  Lifecycle,
  listen,
  readEnv,
  signClipPath,
} from '@fleet/service-kit';
import {
  createReservation,
  type Database,
  Mp4JobRepository,
  openDatabase,
  type UploadRecord,
  UploadRepository,
} from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { anyPod } from '../clips/clip-archiver.ts';
import { type Clips, openClips } from '../clips/clips.ts';
import { clipSettings } from '../clips/settings.ts';
import { ClipDirectory } from '../store/clip-directory.ts';
import { openObjectStore } from '../store/open-object-store.ts';

const secret = clipSettings.CLIPS_SIGNING_SECRET.default;

export interface ClipResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** The part of upload-ftp that serves clips: with its own directory and records, over real HTTP. */
export class ClipHarness {
  readonly directory: ClipDirectory;
  readonly records: UploadRepository;
  readonly clips: Clips;
  readonly url: string;
  readonly lifecycle: Lifecycle;
  readonly database: Database;

  private constructor(deps: Pick<ClipHarness, 'directory' | 'records' | 'clips' | 'url' | 'lifecycle' | 'database'>) {
    this.directory = deps.directory;
    this.records = deps.records;
    this.clips = deps.clips;
    this.url = deps.url;
    this.lifecycle = deps.lifecycle;
    this.database = deps.database;
  }

  /** Opens the harness. With `beside`, it is another pod on the same database. */
  static async open(env: Record<string, string> = {}, beside?: ClipHarness): Promise<ClipHarness> {
    const log = createLogger('clips-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');
    const lifecycle = new Lifecycle(log);
    const directory = new ClipDirectory(await mkdtemp(join(tmpdir(), 'fleet-clips-')));
    lifecycle.onStop('directory', () => rm(directory.root, { recursive: true, force: true }));
    const database = beside?.database ?? openTestDatabase(lifecycle);
    const records = new UploadRepository(database);
    const config = readEnv(clipSettings, { FFMPEG_PATH: testEnv('FFMPEG_PATH'), ...env });
    const objects = await openObjectStore(config);
    lifecycle.onStop('object storage', () => objects?.close());
    const clips = openClips({
      config,
      directory,
      objects,
      records,
      mp4Jobs: new Mp4JobRepository(database),
      lifecycle,
      metrics: createMetrics('test'),
      log,
    });
    const onError = (error: unknown): void => log.warn({ err: error }, 'MP4 jobs failed');
    if (beside === undefined) clips.startJobs({ podIds: ['pod-1', anyPod], onChanged: () => undefined, onError });
    const app = createApp();
    app.use(createApi({ log, routes: clips.routes, bodyLimitBytes: 1024 }), ...createErrorHandlers(log));
    const http = await listen(app, { host: '127.0.0.1', port: 0 });
    lifecycle.onStop('http', () => http.close(0));
    const url = `http://127.0.0.1:${http.port}`;
    return new ClipHarness({ directory, records, clips, url, lifecycle, database });
  }

  /** Creates an upload whose files are on disk. */
  async createUpload(
    files: Readonly<Record<string, Buffer>>,
    more: Partial<UploadRecord> = {},
    pod = 'pod-1',
  ): Promise<UploadRecord> {
    const upload = createRecord(files, { server: { podId: pod, httpUrl: this.url }, ...more });
    await this.records.reserve(upload);
    for (const [path, content] of Object.entries(files)) {
      const file = this.filePath(upload, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
    return upload;
  }

  filePath(upload: UploadRecord, file: string): string {
    return this.directory.filePath({ imei: upload.clip.imei, id: upload._id }, file);
  }

  signUrl(upload: UploadRecord, format: ClipFormat, lifetimeMs = 60_000): string {
    return signClipPath(secret, { baseUrl: this.url, uploadId: upload._id, format, lifetimeMs });
  }

  get(
    upload: UploadRecord,
    format: ClipFormat,
    headers: Record<string, string> = {},
    method: 'GET' | 'HEAD' = 'GET',
  ): Promise<ClipResponse> {
    return fetchBytes(this.signUrl(upload, format), headers, method);
  }

  close(): Promise<void> {
    return this.lifecycle.stop();
  }
}

function openTestDatabase(lifecycle: Lifecycle): Database {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/clips_${randomBytes(6).toString('hex')}`;
  const database = openDatabase(url.href, { appName: 'clips-test' });
  lifecycle.onStop('database', async () => {
    await database.db.dropDatabase();
    await database.close();
  });
  return database;
}

/** Sends one request without adding headers, following redirects or decoding the response. */
export function fetchBytes(
  url: string,
  headers: Record<string, string> = {},
  method: 'GET' | 'HEAD' = 'GET',
): Promise<ClipResponse> {
  return new Promise((resolve, reject) => {
    request(url, { headers, method }, (response) => {
      buffer(response)
        .then((body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
        .catch(reject);
    })
      .once('error', reject)
      .end();
  });
}

function createRecord(files: Readonly<Record<string, Buffer>>, more: Partial<UploadRecord>): UploadRecord {
  const nowMs = Date.now();
  const entries = Object.entries(files);
  const clip = {
    imei: `1${String(randomInt(1e10)).padStart(11, '0')}`,
    channel: 1,
    startMs: 1_000,
    endMs: 3_000,
    mediaType: 3,
    streamType: 0,
    storageType: 0,
    alarmFlags: '0',
  };
  return {
    ...createReservation(clip, {
      shownImei: clip.imei,
      askedImei: clip.imei,
      cameraUtcOffset: '+08:00',
      reservedUntilMs: nowMs,
      mobileNetwork: true,
    }),
    status: 'completed',
    commandSerialNo: 1,
    files: entries.map(([path, { length }], index) => ({
      path,
      bytes: length,
      state: 'whole',
      startedAtMs: nowMs + index,
    })),
    filesize: entries.reduce((sum, [, { length }]) => sum + length, 0),
    filename: entries.at(-1)?.[0].split('/').at(-1) ?? null,
    result: { code: 0, atMs: nowMs },
    hasQuit: true,
    lastByteAtMs: nowMs,
    ...more,
  };
}
