import { setTimeout as delay } from 'node:timers/promises';
import type { ResolvedOptions } from '../terminal-options.ts';
import { CameraFtp, type StoreCommand } from './camera-ftp.ts';
import { FtpRefusalError } from './ftp-control.ts';
import type { UploadFile } from './upload-files.ts';
import type { UploadFault } from './upload-options.ts';

/** The fields of 0x9206 that the upload needs. */
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
  /** Total size of the files, known once they are created. */
  sizeBytes: number;
  /** Bytes passed to the network in all attempts. */
  sentBytes: number;
  /** Number of FTP sessions. */
  attempts: number;
  state: 'uploading' | 'paused' | 'completed' | 'failed' | 'cancelled';
  error: string | null;
  /** Result of the sent 0x1206: 0 success, 1 failure. */
  notice: number | null;
}

/** An injected fault. */
class UploadFaultError extends Error {
  override readonly name = 'UploadFaultError';
}

/** Dependencies of a job on its terminal. */
interface UploadJobDeps {
  readonly options: ResolvedOptions;
  /** Faults to inject; a job removes those that occurred. */
  readonly faults: UploadFault[];
  files(): Promise<UploadFile[]>;
  /** Called when the last file was sent but is not closed yet. */
  beforeClose(): Promise<void>;
  /** Called when the upload has completed or failed; `error` states the reason. */
  onEnd(error: string | null): void;
}

const maxChunkBytes = 16 * 1024;
/** Delay before a fault, so that the server reads the sent data: an RST discards unread data. */
const settleDelayMs = 50;
/** Replies that a retry would not change: log-in refused, no space. */
const finalRefusalCodes: ReadonlySet<number> = new Set([530, 532, 552]);

/** Runs one upload: attempts until all files are complete, with any pauses in between. */
export class UploadJob {
  readonly record: UploadRecord;
  readonly #request: UploadRequest;
  readonly #deps: UploadJobDeps;
  #files: Promise<UploadFile[]> | null = null;
  /** Files that the server has confirmed. */
  #completedFiles = 0;
  /** The first transfer of a file replaces an existing file of that name. */
  #isFileStarted = false;
  /** Controller of the running attempts: a pause or an end aborts it. */
  #running = new AbortController();
  #ftp: CameraFtp | null = null;
  #releaseHold: (() => void) | null = null;
  #hold: Promise<void> | null = null;

  constructor(record: UploadRecord, request: UploadRequest, deps: UploadJobDeps) {
    this.record = record;
    this.#request = request;
    this.#deps = deps;
  }

  /** Uploads until all files are complete or the retries are exhausted. */
  async run(): Promise<void> {
    const running = new AbortController();
    this.#running = running;
    const { uploadRetries = 10, uploadRetryMs = 1000 } = this.#deps.options;
    for (let retries = 0; ; retries += 1) {
      const error = await this.#attempt(running.signal);
      // A held upload whose connections the server has closed starts a new attempt when it is resumed.
      if (this.#hold !== null) await this.#hold;
      if (running.signal.aborted) return;
      if (error === null || retries === uploadRetries || isFinal(error)) {
        this.#deps.onEnd(error === null ? null : error.message);
        return;
      }
      this.#deps.options.onLog?.(`upload ${this.record.fileName} failed: ${error.message}`);
      await delay(uploadRetryMs, undefined, { signal: running.signal }).catch(() => running.abort());
      if (running.signal.aborted) return;
    }
  }

  /** Pauses as configured by `uploadPause`. */
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

  /** Continues after the sent data, or from zero. */
  async resume(): Promise<void> {
    this.record.state = 'uploading';
    if (this.#hold === null) {
      await this.run();
      return;
    }
    this.#releaseHold?.();
    this.#hold = null;
  }

  /** Ends the upload permanently. */
  stop(state: 'cancelled' | 'failed'): void {
    this.record.state = state;
    this.#abort('finish');
  }

  /**
   * Simulates a restart of the terminal: the connections are lost, and the next attempt begins after the usual delay.
   */
  interrupt(): void {
    this.#ftp?.close('reset');
  }

  #abort(how: 'finish' | 'reset'): void {
    // Must come first, as an abort closes only by FIN.
    this.#closeFtp(how);
    this.#running.abort();
    this.#releaseHold?.();
    this.#hold = null;
  }

  #closeFtp(how: 'finish' | 'reset'): void {
    this.#ftp?.close(how);
    this.#ftp = null;
  }

  /** Runs one FTP session; returns the error that ended it early. */
  async #attempt(signal: AbortSignal): Promise<Error | null> {
    // Close connections that a fault has left open.
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

  /** Injects a fault, and removes it from the list after its last occurrence. */
  async #injectFault(plan: UploadFault, ftp: CameraFtp, fault: FaultSignal, signal: AbortSignal): Promise<void> {
    const times = (plan.times ?? 1) - 1;
    this.#deps.faults.splice(0, 1, ...(times > 0 ? [{ ...plan, times }] : []));
    await delay(settleDelayMs);
    const error = new UploadFaultError(`injected fault: ${plan.how}`);
    fault.error = error;
    // Ending the stream sends an early FIN: the server confirms the file before the next attempt begins.
    if (plan.how === 'finish') return;
    if (plan.how === 'reset') ftp.breakData();
    if (plan.how === 'controlLost') ftp.breakControl();
    fault.trigger(error);
    // The data connection stays open until the next attempt, or the end, closes it.
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
