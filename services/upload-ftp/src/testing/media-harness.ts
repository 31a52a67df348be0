import { randomBytes, randomInt } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Bus,
  callUseCase,
  ensureStreams,
  eventHeaders,
  eventSubject,
  headers,
  type MediaStored,
  openBus,
  removeMediaFile,
} from '@fleet/bus';
import { type BodyOf, type Edition, encodeBody, multimediaData } from '@fleet/jt808';
import {
  createApi,
  createApp,
  createErrorHandlers,
  createLogger,
  Lifecycle,
  listen,
  signFilePath,
} from '@fleet/service-kit';
import { ServerProcess } from '@fleet/testing';
import { loadConfig } from '../config.ts';
import { openMedia } from '../media/media.ts';
import type { MediaFiles, MediaMetadata } from '../media/media-files.ts';
import { createUploadMetrics } from '../metrics.ts';
import { DiskHealth } from '../store/disk-health.ts';
import { openObjectStore } from '../store/open-object-store.ts';
import { type ClipResponse, fetchBytes } from './clip-harness.ts';

const log = createLogger('media-test', process.env['TEST_LOG_LEVEL'] ?? 'silent');

export const randomImei = (): string => `1${String(randomInt(1e10)).padStart(11, '0')}`;

/** Creates a file with the signature of a JPEG. */
export const createJpeg = (sizeBytes = 2_000): Buffer =>
  Buffer.concat([Buffer.from('ffd8ffe000104a46494600', 'hex'), randomBytes(sizeBytes - 11)]);

type PictureBody = BodyOf<typeof multimediaData>;

/** A broker for one test, with access to the messages that services publish on it. */
export class MediaBroker {
  readonly server: ServerProcess;
  readonly bus: Bus;

  private constructor(server: ServerProcess, bus: Bus) {
    this.server = server;
    this.bus = bus;
  }

  /** Starts the broker. `settings` is the path of a configuration file. */
  static async start(settings?: string): Promise<MediaBroker> {
    const server = await (await ServerProcess.nats(settings === undefined ? [] : ['-c', settings])).start();
    const bus = await openBus(`nats://127.0.0.1:${server.port}`, { name: 'media-test', log });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
    return new MediaBroker(server, bus);
  }

  async stop(): Promise<void> {
    await this.bus.close();
    await this.server.remove();
  }

  /** Publishes a 0x0801 like a gateway. */
  async publishPicture(
    imei: string,
    body: Partial<PictureBody>,
    more: { edition?: Edition; receivedAtMs?: number } = {},
  ) {
    const { edition = '2013' } = more;
    const head = { multimediaId: 7, type: 0, format: 0, eventCode: 0, channel: 2, data: createJpeg() };
    await this.publishPictureBytes(imei, encodeBody(multimediaData, { ...head, ...body }, edition), more);
  }

  async publishPictureBytes(
    imei: string,
    body: Uint8Array,
    { edition = '2013', receivedAtMs = Date.now() }: { edition?: Edition; receivedAtMs?: number } = {},
  ): Promise<void> {
    const head = headers();
    head.set(eventHeaders.edition, edition);
    head.set(eventHeaders.receivedAtMs, String(receivedAtMs));
    await this.bus.js.publish(eventSubject(imei, multimediaData.id), body, { headers: head });
  }

  /** Returns all events published for a terminal's files. */
  async readStoredEvents(imei: string): Promise<MediaStored[]> {
    const manager = await this.bus.jetstreamManager();
    const { state } = await manager.streams.info('MEDIA');
    const events: MediaStored[] = [];
    for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
      const message = await manager.streams.getMessage('MEDIA', { seq });
      if (message.subject === `media-file.${imei}.stored`) events.push(message.json<MediaStored>());
    }
    return events;
  }

  /** Returns the number of 0x0801 messages that still have to be acknowledged. */
  async countPending(): Promise<number> {
    const manager = await this.bus.jetstreamManager();
    const info = await manager.consumers.info('EVENTS', 'upload-pictures');
    return info.num_ack_pending + info.num_pending;
  }

  /** Returns the number of pull requests for 0x0801 that are waiting. */
  async countPulls(): Promise<number> {
    const manager = await this.bus.jetstreamManager();
    return (await manager.consumers.info('EVENTS', 'upload-pictures')).num_waiting;
  }
}

/** The part of upload-ftp that handles files of terminals, over real HTTP. */
export class MediaHarness {
  readonly pod: string;
  readonly dir: string;
  readonly url: string;
  readonly media: MediaFiles;
  readonly lifecycle: Lifecycle;
  readonly metric: (name: string) => Promise<string>;
  readonly #secret: string;
  readonly #broker: MediaBroker;

  private constructor(
    deps: Pick<MediaHarness, 'pod' | 'dir' | 'url' | 'media' | 'lifecycle' | 'metric'> & {
      secret: string;
      broker: MediaBroker;
    },
  ) {
    this.pod = deps.pod;
    this.dir = deps.dir;
    this.url = deps.url;
    this.media = deps.media;
    this.lifecycle = deps.lifecycle;
    this.metric = deps.metric;
    this.#secret = deps.secret;
    this.#broker = deps.broker;
  }

  /** Opens the harness. `at` reuses the volume and the name of one that has ended. */
  static async open(
    broker: MediaBroker,
    env: Record<string, string> = {},
    at: { pod?: string; dir?: string } = {},
  ): Promise<MediaHarness> {
    const lifecycle = new Lifecycle(log);
    const pod = at.pod ?? `pod-${randomBytes(4).toString('hex')}`;
    const dir = at.dir ?? (await mkdtemp(join(tmpdir(), 'fleet-media-')));
    const config = loadConfig({ CLIPS_DIR: dir, CLIPS_MIN_FREE_BYTES: '0', UPLOAD_SWEEP_MS: '50', ...env });
    const metrics = createUploadMetrics();
    const objects = await openObjectStore(config);
    lifecycle.onStop('objects', () => objects?.close());
    const bus = await openBus(`nats://127.0.0.1:${broker.server.port}`, { name: pod, log });
    lifecycle.onStop('bus', () => bus.close());
    const disk = new DiskHealth(dir, config.CLIPS_MIN_FREE_BYTES);
    const files = await openMedia({ config, pod, objects, disk, lifecycle, metrics: metrics.media, log });
    const app = createApp();
    app.use(createApi({ log, routes: files.routes, bodyLimitBytes: 1024 }), ...createErrorHandlers(log));
    const http = await listen(app, { host: '127.0.0.1', port: 0 });
    lifecycle.onStop('http', () => http.close(0));
    const metric = async (name: string): Promise<string> =>
      (await metrics.registry.metrics())
        .split('\n')
        .filter((line) => line.startsWith(name))
        .join('\n');
    const url = `http://127.0.0.1:${http.port}`;
    const media = files.serve(bus);
    return new MediaHarness({ pod, dir, url, media, lifecycle, metric, secret: config.CLIPS_SIGNING_SECRET, broker });
  }

  /** Stops the service. Its volume remains. */
  end(): Promise<void> {
    return this.lifecycle.stop();
  }

  async close(): Promise<void> {
    await this.end();
    await rm(this.dir, { recursive: true, force: true });
  }

  /** Lists the files below `.media`. */
  async listFiles(folder: string): Promise<string[]> {
    const names: string[] = await readdir(join(this.dir, '.media', folder)).catch(() => []);
    return names.toSorted();
  }

  /** Stores a file like a receiver of files. */
  async storeFile(imei: string, content: Buffer, metadata: Partial<MediaMetadata> = {}): Promise<MediaStored> {
    const file = await this.media.open(imei);
    await file.write(content, 0);
    return this.media.store(file, createMetadata(imei, metadata));
  }

  signUrl(imei: string, fileId: string, lifetimeMs = 60_000): string {
    return signFilePath(this.#secret, { baseUrl: this.url, imei, fileId, lifetimeMs });
  }

  get(
    { imei, fileId }: { imei: string; fileId: string },
    head: Record<string, string> = {},
    method: 'GET' | 'HEAD' = 'GET',
  ): Promise<ClipResponse> {
    return fetchBytes(this.signUrl(imei, fileId), head, method);
  }

  /** Removes a file like platform-api. */
  remove(pod: string, { imei, fileId }: { imei: string; fileId: string }, more: { storedBeforeMs?: number } = {}) {
    return callUseCase(this.#broker.bus, removeMediaFile(pod), { imei, fileId, ...more }, { timeoutMs: 10_000 });
  }
}

export const createMetadata = (imei: string, more: Partial<MediaMetadata> = {}): MediaMetadata => ({
  imei,
  kind: 'image',
  mimeType: 'image/jpeg',
  channel: 1,
  source: 'alarm',
  multimediaId: null,
  takenAt: null,
  receivedAtMs: 1_700_000_000_000,
  place: null,
  attachment: null,
  fileIdSeed: 'seed',
  ...more,
});
