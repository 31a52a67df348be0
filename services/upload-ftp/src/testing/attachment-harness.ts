import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { MediaStored } from '@fleet/bus';
import { type Edition, terminalKey } from '@fleet/jt808';
import { createLogger, Registry } from '@fleet/service-kit';
import { type AlarmLimits, Alarms } from '../attachments/alarms.ts';
import { AttachmentServer, type AttachmentServerOptions } from '../attachments/attachment-server.ts';
import type { Expectation } from '../attachments/expected-attachments.ts';
import { createAttachmentMetrics } from '../attachments/metrics.ts';
import { IncomingFile, type MediaMetadata } from '../media/media-files.ts';
import { AttachmentClient } from './attachment-client.ts';

/** A stored file. */
interface StoredFile {
  readonly metadata: MediaMetadata;
  readonly content: Buffer;
}

let lastAlarmNo = 0;

/** The attachment server by itself. Files are stored in memory, and the test defines the expected alarms. */
export class AttachmentHarness {
  readonly dir = mkdtempSync(join(tmpdir(), 'fleet-attachments-'));
  readonly registry = new Registry();
  readonly stored: StoredFile[] = [];
  readonly expected = new Map<string, Expectation>();
  readonly clients: AttachmentClient[] = [];
  /** Errors thrown by the next operation that stores a file or reads an expectation. */
  storeError: Error | null = null;
  findError: Error | null = null;
  storageError: string | null = null;
  opened = 0;
  readonly alarms: Alarms;
  readonly server: AttachmentServer;

  constructor(options: Partial<AttachmentServerOptions> = {}, limits: Partial<AlarmLimits> = {}) {
    const log = createLogger('attachments-test', 'silent');
    const metrics = createAttachmentMetrics(this.registry);
    const media = {
      open: (imei: string) => {
        this.opened += 1;
        return IncomingFile.create(imei, join(this.dir, String(this.opened)), () => undefined);
      },
      store: (file: IncomingFile, metadata: MediaMetadata) => this.#store(file, metadata),
    };
    const markStored = async (no: string, file: { name: string; fileId: string }): Promise<void> => {
      const expectation = this.expected.get(no);
      if (expectation) this.expected.set(no, { ...expectation, files: [...expectation.files, file] });
    };
    const defaultLimits = { maxFiles: 4, maxFileBytes: 1e6, maxAlarmBytes: 1.5e6, maxOpenFiles: 3, resumeMs: 60_000 };
    this.alarms = new Alarms({
      media,
      expectedAttachments: { markStored },
      log,
      limits: { ...defaultLimits, ...limits },
    });
    this.server = new AttachmentServer({
      host: '127.0.0.1',
      port: 0,
      proxyNetworks: [],
      maxConnections: 100,
      maxConnectionsPerAddress: 0,
      loginTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
      maxPacketBytes: 1e6,
      alarms: this.alarms,
      findExpectation: async (no) => {
        if (this.findError !== null) throw this.findError;
        return this.expected.get(no) ?? null;
      },
      findStorageError: async () => this.storageError,
      metrics,
      log,
      ...options,
    });
  }

  /** Adds an expected alarm of a terminal and returns its number. */
  expect(phone: string, more: Partial<Expectation> = {}): string {
    lastAlarmNo += 1;
    const _id = lastAlarmNo.toString(16).padStart(32, '0');
    const imei = terminalKey(phone) ?? '';
    const expiresAtMs = Date.now() + 60_000;
    const ids = { accountId: 1, vehicleId: 2, notificationId: 3 };
    this.expected.set(_id, { _id, imei, ...ids, count: 2, expiresAtMs, files: [], ...more });
    return _id;
  }

  async connect(phone: string, edition: Edition = '2013'): Promise<AttachmentClient> {
    const client = await AttachmentClient.connect(this.server.port, phone, edition);
    this.clients.push(client);
    return client;
  }

  /** Lists the files on disk. */
  listFiles(): Promise<string[]> {
    return readdir(this.dir);
  }

  async metric(name: string, labels: Record<string, string> = {}): Promise<number> {
    const metric = await this.registry.getSingleMetric(`upload_ftp_attachment_${name}`)?.get();
    const values = (metric?.values ?? []) as { value: number; labels: Record<string, unknown> }[];
    return (
      values.find((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))?.value ?? 0
    );
  }

  async stop(): Promise<void> {
    for (const client of this.clients) client.socket.destroy();
    await this.server.stop();
    await this.alarms.stop();
    rmSync(this.dir, { recursive: true, force: true });
  }

  async #store(file: IncomingFile, { fileIdSeed, ...metadata }: MediaMetadata): Promise<MediaStored> {
    await file.finish();
    const content = readFileSync(file.path);
    await file.discard();
    const failure = this.storeError;
    this.storeError = null;
    if (failure !== null) throw failure;
    this.stored.push({ metadata: { ...metadata, fileIdSeed }, content });
    return {
      ...metadata,
      fileId: String(this.stored.length).padStart(24, '0'),
      server: 'here',
      sizeBytes: content.length,
    };
  }
}
