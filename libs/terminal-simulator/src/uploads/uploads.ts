import { fileUploadResult } from '@fleet/jt808';
import type { Cameras } from '../cameras.ts';
import { createMessage } from '../handlers/handler-context.ts';
import type { RecordingSegment } from '../recordings.ts';
import type { ResolvedOptions, TerminalMessage } from '../terminal-options.ts';
import { buildUploadFileNames, createUploadFiles, type UploadFile } from './upload-files.ts';
import { UploadJob, type UploadRecord, type UploadRequest } from './upload-job.ts';
import type { UploadFault } from './upload-options.ts';

/** Controls of 0x9207. */
const pauseControl = 0;
const resumeControl = 1;
const cancelControl = 2;

const successResult = 0;
const failureResult = 1;

/** Time that the last file stays open after a 0x1206 that was sent too early. */
const earlyNoticeLeadMs = 1000;

/**
 * Manages the FTP uploads of a terminal. One runs at a time; others may be paused. They continue while the connection
 * to the platform is lost.
 */
export class Uploads {
  /** All uploads. */
  readonly records: UploadRecord[] = [];
  /** Faults to inject into the next uploads; may be extended at any time. */
  readonly faults: UploadFault[];
  readonly #options: ResolvedOptions;
  readonly #cameras: Cameras;
  readonly #sendReliably: (message: TerminalMessage) => void;
  readonly #jobs = new Map<number, UploadJob>();

  constructor(options: ResolvedOptions, cameras: Cameras, sendReliably: (message: TerminalMessage) => void) {
    this.#options = options;
    this.#cameras = cameras;
    this.#sendReliably = sendReliably;
    this.faults = [...(options.uploadFaults ?? [])];
  }

  /** True while an upload runs; a second one is refused. A paused upload does not count. */
  get isBusy(): boolean {
    return this.records.some((record) => record.state === 'uploading');
  }

  /** Starts an upload; 0x1206 reports its end. */
  async start(serial: number, request: UploadRequest, segments: readonly RecordingSegment[]): Promise<void> {
    const [first] = buildUploadFileNames(request.channel, segments, this.#options);
    const record: UploadRecord = {
      serial,
      channel: request.channel,
      fileName: first?.path ?? '',
      sizeBytes: 0,
      sentBytes: 0,
      attempts: 0,
      state: 'uploading',
      error: null,
      notice: null,
    };
    const job = new UploadJob(record, request, {
      options: this.#options,
      faults: this.faults,
      files: () => this.createFiles(request.channel, segments),
      beforeClose: () => this.#sendEarlyNotice(record),
      onEnd: (error) => this.#onEnded(record, error),
    });
    this.records.push(record);
    this.#jobs.set(serial, job);
    await job.run();
  }

  /** Creates the files of an uploaded clip: always the same bytes. */
  createFiles(channel: number, segments: readonly RecordingSegment[]): Promise<UploadFile[]> {
    return createUploadFiles(this.#cameras, channel, segments, this.#options);
  }

  /** Handles 0x9207. Returns the action to run after the response, or null if it does not fit the upload's state. */
  control(serial: number, control: number): (() => void | Promise<void>) | null {
    const job = this.#jobs.get(serial);
    if (job === undefined) return null;
    const { state } = job.record;
    if (control === pauseControl && state === 'uploading') return () => job.pause();
    if (control === cancelControl && (state === 'uploading' || state === 'paused'))
      return () => this.#stop(job, 'cancelled');
    if (control !== resumeControl || state !== 'paused' || this.isBusy) return null;
    return () => job.resume();
  }

  /** Simulates a restart of the terminal: running uploads lose their connections and continue afterwards. */
  interrupt(): void {
    for (const job of this.#jobs.values()) if (job.record.state === 'uploading') job.interrupt();
  }

  /** Ends all running and paused uploads without notifying the platform. */
  close(): void {
    for (const job of Array.from(this.#jobs.values())) {
      this.#stop(job, job.record.state === 'paused' ? 'cancelled' : 'failed');
    }
  }

  #stop(job: UploadJob, state: 'cancelled' | 'failed'): void {
    job.stop(state);
    this.#jobs.delete(job.record.serial);
  }

  #onEnded(record: UploadRecord, error: string | null): void {
    record.state = error === null ? 'completed' : 'failed';
    record.error = error;
    this.#jobs.delete(record.serial);
    this.#options.onLog?.(`upload ${record.fileName} ${record.state}${error === null ? '' : `: ${error}`}`);
    const actualResult = error === null ? successResult : failureResult;
    const { uploadNotice = 'truth' } = this.#options;
    if (uploadNotice === 'never' || record.notice !== null) return;
    if (uploadNotice === 'failure') this.#sendNotice(record, failureResult);
    else this.#sendNotice(record, uploadNotice === 'success' ? successResult : actualResult);
  }

  async #sendEarlyNotice(record: UploadRecord): Promise<void> {
    if (this.#options.uploadNotice !== 'early' || record.notice !== null) return;
    this.#sendNotice(record, successResult);
    await new Promise((resolve) => {
      setTimeout(resolve, earlyNoticeLeadMs);
    });
  }

  #sendNotice(record: UploadRecord, result: number): void {
    record.notice = result;
    const body = { replySerial: record.serial, result };
    this.#sendReliably(createMessage(fileUploadResult, body, this.#options.edition));
  }
}
