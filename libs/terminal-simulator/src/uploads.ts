import { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileUploadResult } from '@fleet/jt808';
import { Client } from 'basic-ftp';
import { messageOf } from './answers/answering.ts';
import type { Cameras } from './cameras.ts';
import { recordingFile } from './media/recording-file.ts';
import { recordingSizeBytes, type Stretch } from './recordings.ts';
import type { ResolvedOptions, TerminalMessage } from './terminal-options.ts';

/** 0x9206 as far as the upload itself needs it. */
export interface UploadRequest {
  server: string;
  port: number;
  username: string;
  password: string;
  path: string;
  channel: number;
}

/** One upload from request to end. */
export interface UploadRecord {
  /** Serial of its 0x9206, which 0x9207 and 0x1206 repeat. */
  readonly serial: number;
  readonly channel: number;
  readonly fileName: string;
  sizeBytes: number;
  /** Bytes handed to the network in all attempts. */
  sentBytes: number;
  state: 'uploading' | 'paused' | 'completed' | 'failed' | 'cancelled';
  error: string | null;
}

const CHUNK_BYTES = 16 * 1024;
const FTP_TIMEOUT_MS = 30_000;

/** 0x9207 controls. */
const PAUSE = 0;
const RESUME = 1;
const CANCEL = 2;

interface Job {
  record: UploadRecord;
  request: UploadRequest;
  stretches: readonly Stretch[];
  content: Promise<Buffer> | null;
  client: Client | null;
}

/** Uploads of a terminal by FTP: one at a time, paused and resumed by closing and opening the FTP session. */
export class Uploads {
  /** Every upload so far. */
  readonly records: UploadRecord[] = [];
  readonly #options: ResolvedOptions;
  readonly #cameras: Cameras;
  readonly #sendReliably: (message: TerminalMessage) => void;
  #job: Job | null = null;

  constructor(options: ResolvedOptions, cameras: Cameras, sendReliably: (message: TerminalMessage) => void) {
    this.#options = options;
    this.#cameras = cameras;
    this.#sendReliably = sendReliably;
  }

  /** True while an upload runs; a second one is refused. A paused one does not count. */
  get isBusy(): boolean {
    return this.#job?.record.state === 'uploading';
  }

  /** Starts an upload; its end is told with 0x1206. */
  async start(serial: number, request: UploadRequest, stretches: readonly Stretch[]): Promise<void> {
    const first = stretches[0]?.recording.startTime.replaceAll(/\D/g, '') ?? '';
    const last = stretches.at(-1)?.recording.endTime.replaceAll(/\D/g, '') ?? '';
    const fileName = `CH${request.channel}_${first}_${last}.mp4`;
    const record: UploadRecord = {
      serial,
      channel: request.channel,
      fileName,
      sizeBytes: 0,
      sentBytes: 0,
      state: 'uploading',
      error: null,
    };
    this.records.push(record);
    this.#job = { record, request, stretches, content: null, client: null };
    await this.#transfer(this.#job, 'fromZero');
  }

  /** 0x9207: what is to be done once it is answered, or null when it does not fit the upload's state. */
  control(serial: number, control: number): (() => void | Promise<void>) | null {
    const job = this.#job;
    if (job === null || job.record.serial !== serial) return null;
    const { state } = job.record;
    if (control === PAUSE && state === 'uploading') return () => this.#stop(job, 'paused');
    if (control === CANCEL && (state === 'uploading' || state === 'paused')) return () => this.#stop(job, 'cancelled');
    if (control !== RESUME || state !== 'paused') return null;
    return () => {
      job.record.state = 'uploading';
      return this.#transfer(job, this.#options.uploadResume ?? 'append');
    };
  }

  /** Ends what runs, without a word to the platform. */
  close(): void {
    if (this.#job !== null && this.isBusy) this.#stop(this.#job, 'failed');
  }

  #stop(job: Job, state: 'paused' | 'cancelled' | 'failed'): void {
    job.record.state = state;
    job.client?.close();
    if (state !== 'paused' && this.#job === job) this.#job = null;
  }

  async #content(job: Job): Promise<Buffer> {
    const clip = await this.#cameras.clip(job.request.channel, 'main');
    const seconds = job.stretches.reduce((sum, { fromMs, toMs }) => sum + (toMs - fromMs) / 1000, 0);
    return recordingFile(clip, seconds, recordingSizeBytes(seconds, clip.spec.bitrateKbps));
  }

  async #transfer(job: Job, resume: 'append' | 'fromZero'): Promise<void> {
    const { record } = job;
    const client = new Client(FTP_TIMEOUT_MS);
    job.client = client;
    try {
      job.content ??= this.#content(job);
      const content = await job.content;
      record.sizeBytes = content.length;
      await this.#send(job, client, content, resume);
      this.#end(job, client, null);
    } catch (error) {
      this.#end(job, client, error instanceof Error ? error.message : String(error));
    } finally {
      client.close();
    }
  }

  async #send(job: Job, client: Client, content: Buffer, resume: 'append' | 'fromZero'): Promise<void> {
    const { server, port, username, password, path } = job.request;
    // Paused or cancelled while the file was being made.
    if (job.client !== client || job.record.state !== 'uploading') return;
    await client.access({ host: server, port, user: username, password });
    if (path !== '' && path !== '/') await client.ensureDir(path);
    const { fileName } = job.record;
    if (resume === 'append') {
      const offset = await client.size(fileName).catch(() => 0);
      await client.appendFrom(this.#stream(job.record, content.subarray(offset)), fileName);
    } else {
      await client.uploadFrom(this.#stream(job.record, content), fileName);
    }
  }

  #stream(record: UploadRecord, content: Buffer): Readable {
    const { uploadBytesPerSecond = Number.POSITIVE_INFINITY } = this.#options;
    const chunkBytes = Math.max(1, Math.min(CHUNK_BYTES, uploadBytesPerSecond / 10));
    async function* chunks(): AsyncGenerator<Buffer> {
      for (let at = 0; at < content.length; at += chunkBytes) {
        const chunk = content.subarray(at, at + chunkBytes);
        record.sentBytes += chunk.length;
        yield chunk;
        if (Number.isFinite(uploadBytesPerSecond)) await delay((chunk.length / uploadBytesPerSecond) * 1000);
      }
    }
    return Readable.from(chunks(), { objectMode: false, highWaterMark: chunkBytes });
  }

  /** A pause or cancellation closes the session and so ends the transfer with an error: that is no failure. */
  #end(job: Job, client: Client, error: string | null): void {
    if (job.client !== client || job.record.state !== 'uploading') return;
    job.record.state = error === null ? 'completed' : 'failed';
    job.record.error = error;
    if (this.#job === job) this.#job = null;
    this.#options.onLog?.(`upload ${job.record.fileName} ${job.record.state}${error === null ? '' : `: ${error}`}`);
    const result = { replySerial: job.record.serial, result: error === null ? 0 : 1 };
    this.#sendReliably(messageOf(fileUploadResult, result, this.#options.edition));
  }
}
