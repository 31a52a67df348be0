import { setTimeout as delay } from 'node:timers/promises';
import type { ResolvedOptions } from '../terminal-options.ts';
import { CameraFtp, type StoreCommand } from './camera-ftp.ts';
import { FtpRefusalError } from './ftp-control.ts';
import type { UploadFile } from './upload-files.ts';
import type { UploadFault } from './upload-options.ts';

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
class UploadFaultError extends Error {
  override readonly name = 'UploadFaultError';
}

/** What a job needs of its terminal. */
export interface UploadJobDeps {
  readonly options: ResolvedOptions;
  /** Accidents to come; a job takes away what has happened. */
  readonly faults: UploadFault[];
  files(): Promise<UploadFile[]>;
  /** The last file is on its way and not closed yet. */
  beforeClose(): Promise<void>;
  /** Done, or given up: `error` says why. */
  onEnd(error: string | null): void;
}

const maxChunkBytes = 16 * 1024;
/** What was sent before an accident is to have been read: an RST throws away what was not. */
const settleDelayMs = 50;
/** Replies that no later attempt would change: log-in refused, no space for it. */
const finalRefusalCodes: ReadonlySet<number> = new Set([530, 532, 552]);

/** One upload: attempts until all files are whole, with what a pause does in between. */
export class UploadJob {
  readonly record: UploadRecord;
  readonly #request: UploadRequest;
  readonly #deps: UploadJobDeps;
  #files: Promise<UploadFile[]> | null = null;
  /** Files that the server has confirmed. */
  #completedFiles = 0;
  /** The first transfer of a file replaces whatever has its name. */
  #isFileStarted = false;
  /** Of the attempts that run: a pause or an end aborts it. */
  #running = new AbortController();
  #ftp: CameraFtp | null = null;
  #releaseHold: (() => void) | null = null;
  #hold: Promise<void> | null = null;

  constructor(record: UploadRecord, request: UploadRequest, deps: UploadJobDeps) {
    this.record = record;
    this.#request = request;
    this.#deps = deps;
  }

  /** Uploads until all is done or the attempts are used up. */
  async run(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    const { uploadRetries = 10, uploadRetryMs = 1000 } = this.#deps.options;
    for (let retries = 0; ; retries += 1) {
      const error = await this.#attempt(running.signal);
      // A held upload whose connections the server has closed begins again when it is resumed.
      if (this.#hold !== null) await this.#hold;
      if (running.signal.aborted) return;
      if (error === null || retries === uploadRetries || isFinal(error)) {
        this.#deps.onEnd(error === null ? null : error.message);
        return;
      }
      this.#deps.options.onLog?.(`upload ${this.record.fileName} broken: ${error.message}`);
      await delay(uploadRetryMs, undefined, { signal: running.signal }).catch(() => running.abort());
      if (running.signal.aborted) return;
    }
  }

  /** Stops as `uploadPause` says. */
  pause(): void {
    const { uploadPause = 'close' } = this.#deps.options;
    this.record.state = 'paused';
    if (uploadPause === 'hold') {
      this.#hold ??= new Promise((resolve) => {
        this.#releaseHold = resolve;
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
    this.#releaseHold?.();
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
    this.#releaseHold?.();
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
      this.#files ??= this.#deps.files();
      const files = await this.#files;
      this.record.sizeBytes = files.reduce((sum, { content }) => sum + content.length, 0);
      if (signal.aborted) return null;
      this.record.attempts += 1;
      const ftp = await this.#open(signal);
      if (ftp === null) return null;
      if (this.#request.path !== '') await ftp.enterDirectory(this.#request.path);
      const remainingFiles = files.slice(this.#completedFiles);
      for (const file of remainingFiles) await this.#sendFile(ftp, file, file === remainingFiles.at(-1), signal);
      if (this.#deps.options.uploadQuits === false) ftp.close('finish');
      else await ftp.quit();
      return null;
    } catch (error) {
      if (!(error instanceof UploadFaultError)) this.#closeFtp('finish');
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  async #open(signal: AbortSignal): Promise<CameraFtp | null> {
    const { uploadTls = false, uploadDataMode = 'pasv' } = this.#deps.options;
    const ftp = await CameraFtp.open({ ...this.#request, secure: uploadTls, dataMode: uploadDataMode }, signal);
    if (signal.aborted) {
      ftp.close('finish');
      return null;
    }
    this.#ftp = ftp;
    return ftp;
  }

  async #sendFile(ftp: CameraFtp, file: UploadFile, isLast: boolean, signal: AbortSignal): Promise<void> {
    const directory = file.path.split('/').slice(0, -1).join('/');
    const name = file.path.split('/').at(-1) ?? '';
    await ftp.changeDirectory(directory);
    const command = await this.#chooseCommand(ftp, name, file.content.length);
    const { offset } = command;
    const fault = createFaultSignal();
    const chunks = this.#chunks(file.content.subarray(offset), ftp, fault, { isLast, signal });
    this.#isFileStarted = true;
    await Promise.race([ftp.store(name, command.store, chunks), fault.promise]);
    if (fault.error !== null) throw fault.error;
    this.#completedFiles += 1;
    this.#isFileStarted = false;
  }

  async #chooseCommand(
    ftp: CameraFtp,
    name: string,
    sizeBytes: number,
  ): Promise<{ store: StoreCommand; offset: number }> {
    const { uploadResume = 'append' } = this.#deps.options;
    if (!this.#isFileStarted || uploadResume === 'fromZero') return { store: { verb: 'STOR' }, offset: 0 };
    const offset = await ftp.getSize(name);
    if (offset > sizeBytes) return { store: { verb: 'STOR' }, offset: 0 };
    if (uploadResume === 'append') return { store: { verb: 'APPE' }, offset };
    return { store: { verb: 'REST', offset }, offset };
  }

  async *#chunks(
    content: Buffer,
    ftp: CameraFtp,
    fault: FaultSignal,
    { isLast, signal }: { isLast: boolean; signal: AbortSignal },
  ): AsyncGenerator<Buffer> {
    const { uploadBytesPerSecond = Number.POSITIVE_INFINITY } = this.#deps.options;
    const chunkBytes = Math.max(1, Math.floor(Math.min(maxChunkBytes, uploadBytesPerSecond / 10)));
    for (let at = 0; at < content.length; ) {
      if (this.#hold !== null) await this.#hold;
      if (signal.aborted) return;
      const nextFault = this.#deps.faults[0];
      const bytesToFault = nextFault === undefined ? Number.POSITIVE_INFINITY : nextFault.afterBytes - at;
      if (nextFault !== undefined && bytesToFault <= 0) {
        await this.#injectFault(nextFault, ftp, fault, signal);
        return;
      }
      const chunk = content.subarray(at, at + Math.min(chunkBytes, bytesToFault));
      at += chunk.length;
      this.record.sentBytes += chunk.length;
      yield chunk;
      if (Number.isFinite(uploadBytesPerSecond)) await delay((chunk.length / uploadBytesPerSecond) * 1000);
    }
    if (isLast) await this.#deps.beforeClose();
  }

  /** Has an accident, and takes it off the list when it has happened often enough. */
  async #injectFault(plan: UploadFault, ftp: CameraFtp, fault: FaultSignal, signal: AbortSignal): Promise<void> {
    const times = (plan.times ?? 1) - 1;
    this.#deps.faults.splice(0, 1, ...(times > 0 ? [{ ...plan, times }] : []));
    await delay(settleDelayMs);
    const error = new UploadFaultError(`told to break: ${plan.how}`);
    fault.error = error;
    // An early FIN is sent by ending the stream: the server confirms the file before the next attempt begins.
    if (plan.how === 'finish') return;
    if (plan.how === 'reset') ftp.breakData();
    if (plan.how === 'controlLost') ftp.breakControl();
    fault.trigger(error);
    // The data connection is left as it is until the next attempt, or the end, closes it.
    if (plan.how !== 'reset') await waitForAbort(signal);
  }
}

const isFinal = (error: Error): boolean => error instanceof FtpRefusalError && finalRefusalCodes.has(error.code);

interface FaultSignal {
  error: Error | null;
  readonly promise: Promise<never>;
  readonly trigger: (error: Error) => void;
}

function createFaultSignal(): FaultSignal {
  let trigger: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_resolve, reject) => {
    trigger = reject;
  });
  return { error: null, promise, trigger };
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
