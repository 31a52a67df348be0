import { setTimeout as delay } from 'node:timers/promises';
import type { ResolvedOptions } from '../terminal-options.ts';
import { CameraFtp, type StoreCommand } from './camera-ftp.ts';
import { FtpRefusalError } from './ftp-control.ts';
import type { UploadFile } from './upload-files.ts';
import type { UploadBreak } from './upload-options.ts';

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
  /** The first file's path below the path of 0x9206. */
  readonly fileName: string;
  /** Sum of the files, known once they are made. */
  sizeBytes: number;
  /** Bytes handed to the network in all attempts. */
  sentBytes: number;
  /** FTP sessions so far. */
  attempts: number;
  state: 'uploading' | 'paused' | 'completed' | 'failed' | 'cancelled';
  error: string | null;
  /** Result of the 0x1206 that was sent: 0 success, 1 failure. */
  notice: number | null;
}

/** An accident that the terminal was told to have. */
class BrokenUploadError extends Error {
  override readonly name = 'BrokenUploadError';
}

/** What a job needs of its terminal. */
export interface UploadJobPort {
  readonly options: ResolvedOptions;
  /** Accidents to come; a job takes away what has happened. */
  readonly breaks: UploadBreak[];
  files(): Promise<UploadFile[]>;
  /** The last file is on its way and not closed yet. */
  beforeClose(): Promise<void>;
  /** Done, or given up: `error` says why. */
  ended(error: string | null): void;
}

const CHUNK_BYTES = 16 * 1024;
/** What was sent before an accident is to have been read: an RST throws away what was not. */
const SETTLE_MS = 50;
/** Replies that no later attempt would change: log-in refused, no space for it. */
const FINAL_REFUSALS: ReadonlySet<number> = new Set([530, 532, 552]);

/** One upload: attempts until all files are whole, with what a pause does in between. */
export class UploadJob {
  readonly record: UploadRecord;
  readonly #request: UploadRequest;
  readonly #port: UploadJobPort;
  #files: Promise<UploadFile[]> | null = null;
  /** Files that the server has confirmed. */
  #done = 0;
  /** The first transfer of a file replaces whatever has its name. */
  #isBegun = false;
  /** Of the attempts that run: a pause or an end aborts it. */
  #running = new AbortController();
  #ftp: CameraFtp | null = null;
  #unhold: (() => void) | null = null;
  #hold: Promise<void> | null = null;

  constructor(record: UploadRecord, request: UploadRequest, port: UploadJobPort) {
    this.record = record;
    this.#request = request;
    this.#port = port;
  }

  /** Uploads until all is done or the attempts are used up. */
  async run(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    const { uploadRetries = 10, uploadRetryMs = 1000 } = this.#port.options;
    for (let retries = 0; ; retries += 1) {
      const error = await this.#attempt(running.signal);
      // A held upload whose connections the server has closed begins again when it is resumed.
      if (this.#hold !== null) await this.#hold;
      if (running.signal.aborted) return;
      if (error === null || retries === uploadRetries || isFinal(error)) {
        this.#port.ended(error === null ? null : error.message);
        return;
      }
      this.#port.options.onLog?.(`upload ${this.record.fileName} broken: ${error.message}`);
      await delay(uploadRetryMs, undefined, { signal: running.signal }).catch(() => running.abort());
      if (running.signal.aborted) return;
    }
  }

  /** Stops as `uploadPause` says. */
  pause(): void {
    const { uploadPause = 'close' } = this.#port.options;
    this.record.state = 'paused';
    if (uploadPause === 'hold') {
      this.#hold ??= new Promise((resolve) => {
        this.#unhold = resolve;
      });
      return;
    }
    this.#abort(uploadPause === 'reset' ? 'reset' : 'finish');
  }

  /** Goes on where it was, or from zero. */
  async resume(): Promise<void> {
    this.record.state = 'uploading';
    if (this.#hold === null) {
      await this.run();
      return;
    }
    this.#unhold?.();
    this.#hold = null;
  }

  /** Ends it for good. */
  stop(state: 'cancelled' | 'failed'): void {
    this.record.state = state;
    this.#abort('finish');
  }

  /** The terminal restarts: the connections are lost, and the next attempt begins after the usual wait. */
  interrupt(): void {
    this.#ftp?.close('reset');
  }

  #abort(how: 'finish' | 'reset'): void {
    // First, as an abort closes by FIN alone.
    this.#closeFtp(how);
    this.#running.abort();
    this.#unhold?.();
    this.#hold = null;
  }

  #closeFtp(how: 'finish' | 'reset'): void {
    this.#ftp?.close(how);
    this.#ftp = null;
  }

  /** One FTP session; gives what has ended it early. */
  async #attempt(signal: AbortSignal): Promise<Error | null> {
    // Connections that an accident has left open are dead by now.
    this.#closeFtp('finish');
    try {
      this.#files ??= this.#port.files();
      const files = await this.#files;
      this.record.sizeBytes = files.reduce((sum, { content }) => sum + content.length, 0);
      if (signal.aborted) return null;
      this.record.attempts += 1;
      const ftp = await this.#open(signal);
      if (ftp === null) return null;
      if (this.#request.path !== '') await ftp.enter(this.#request.path);
      const left = files.slice(this.#done);
      for (const file of left) await this.#send(ftp, file, file === left.at(-1), signal);
      if (this.#port.options.uploadQuits === false) ftp.close('finish');
      else await ftp.quit();
      return null;
    } catch (error) {
      if (!(error instanceof BrokenUploadError)) this.#closeFtp('finish');
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #open(signal: AbortSignal): Promise<CameraFtp | null> {
    const { uploadTls = false, uploadDataMode = 'pasv' } = this.#port.options;
    const ftp = await CameraFtp.open({ ...this.#request, secure: uploadTls, dataMode: uploadDataMode }, signal);
    if (signal.aborted) {
      ftp.close('finish');
      return null;
    }
    this.#ftp = ftp;
    return ftp;
  }

  async #send(ftp: CameraFtp, file: UploadFile, isLast: boolean, signal: AbortSignal): Promise<void> {
    const directory = file.path.split('/').slice(0, -1).join('/');
    const name = file.path.split('/').at(-1) ?? '';
    await ftp.moveTo(directory);
    const command = await this.#commandFor(ftp, name, file.content.length);
    const { offset } = command;
    const broken = newAccident();
    const chunks = this.#chunks(file.content.subarray(offset), ftp, broken, { isLast, signal });
    this.#isBegun = true;
    await Promise.race([ftp.store(name, command.store, chunks), broken.happened]);
    if (broken.error !== null) throw broken.error;
    this.#done += 1;
    this.#isBegun = false;
  }

  async #commandFor(ftp: CameraFtp, name: string, sizeBytes: number): Promise<{ store: StoreCommand; offset: number }> {
    const { uploadResume = 'append' } = this.#port.options;
    if (!this.#isBegun || uploadResume === 'fromZero') return { store: { verb: 'STOR' }, offset: 0 };
    const offset = await ftp.sizeOf(name);
    if (offset > sizeBytes) return { store: { verb: 'STOR' }, offset: 0 };
    if (uploadResume === 'append') return { store: { verb: 'APPE' }, offset };
    return { store: { verb: 'REST', offset }, offset };
  }

  async *#chunks(
    content: Buffer,
    ftp: CameraFtp,
    broken: Accident,
    { isLast, signal }: { isLast: boolean; signal: AbortSignal },
  ): AsyncGenerator<Buffer> {
    const { uploadBytesPerSecond = Number.POSITIVE_INFINITY } = this.#port.options;
    const chunkBytes = Math.max(1, Math.floor(Math.min(CHUNK_BYTES, uploadBytesPerSecond / 10)));
    for (let at = 0; at < content.length; ) {
      if (this.#hold !== null) await this.#hold;
      if (signal.aborted) return;
      const accident = this.#port.breaks[0];
      const toAccident = accident === undefined ? Number.POSITIVE_INFINITY : accident.afterBytes - at;
      if (accident !== undefined && toAccident <= 0) {
        await this.#break(accident, ftp, broken, signal);
        return;
      }
      const chunk = content.subarray(at, at + Math.min(chunkBytes, toAccident));
      at += chunk.length;
      this.record.sentBytes += chunk.length;
      yield chunk;
      if (Number.isFinite(uploadBytesPerSecond)) await delay((chunk.length / uploadBytesPerSecond) * 1000);
    }
    if (isLast) await this.#port.beforeClose();
  }

  /** Has an accident, and takes it off the list when it has happened often enough. */
  async #break(accident: UploadBreak, ftp: CameraFtp, broken: Accident, signal: AbortSignal): Promise<void> {
    const times = (accident.times ?? 1) - 1;
    this.#port.breaks.splice(0, 1, ...(times > 0 ? [{ ...accident, times }] : []));
    await delay(SETTLE_MS);
    const error = new BrokenUploadError(`told to break: ${accident.how}`);
    broken.error = error;
    // An early FIN is sent by ending the stream: the server confirms the file before the next attempt begins.
    if (accident.how === 'finish') return;
    if (accident.how === 'reset') ftp.breakData();
    if (accident.how === 'controlLost') ftp.breakControl();
    broken.happen(error);
    // The data connection is left as it is until the next attempt, or the end, closes it.
    if (accident.how !== 'reset') await aborted(signal);
  }
}

const isFinal = (error: Error): boolean => error instanceof FtpRefusalError && FINAL_REFUSALS.has(error.code);

interface Accident {
  error: Error | null;
  readonly happened: Promise<never>;
  readonly happen: (error: Error) => void;
}

function newAccident(): Accident {
  let happen: (error: Error) => void = () => undefined;
  const happened = new Promise<never>((_resolve, reject) => {
    happen = reject;
  });
  return { error: null, happened, happen };
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
