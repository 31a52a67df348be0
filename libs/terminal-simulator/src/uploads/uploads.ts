import { fileUploadResult } from '@fleet/jt808';
import { messageOf } from '../answers/answering.ts';
import type { Cameras } from '../cameras.ts';
import type { Stretch } from '../recordings.ts';
import type { ResolvedOptions, TerminalMessage } from '../terminal-options.ts';
import { type UploadFile, uploadFileNames, uploadFiles } from './upload-files.ts';
import { UploadJob, type UploadRecord, type UploadRequest } from './upload-job.ts';
import type { UploadBreak } from './upload-options.ts';

/** 0x9207 controls. */
const PAUSE = 0;
const RESUME = 1;
const CANCEL = 2;

const SUCCESS = 0;
const FAILURE = 1;

/** How long the last file stays open behind a 0x1206 that was sent too early. */
const EARLY_NOTICE_LEAD_MS = 1000;

/** Uploads of a terminal by FTP: one runs at a time, others may be paused meanwhile. They outlive the connection to the platform. */
export class Uploads {
  /** Every upload so far. */
  readonly records: UploadRecord[] = [];
  /** Accidents to come, of whichever upload is next; may be added to at any time. */
  readonly breaks: UploadBreak[];
  readonly #options: ResolvedOptions;
  readonly #cameras: Cameras;
  readonly #sendReliably: (message: TerminalMessage) => void;
  readonly #jobs = new Map<number, UploadJob>();

  constructor(options: ResolvedOptions, cameras: Cameras, sendReliably: (message: TerminalMessage) => void) {
    this.#options = options;
    this.#cameras = cameras;
    this.#sendReliably = sendReliably;
    this.breaks = [...(options.uploadBreaks ?? [])];
  }

  /** True while an upload runs; a second one is refused. A paused one does not count. */
  get isBusy(): boolean {
    return this.records.some((record) => record.state === 'uploading');
  }

  /** Starts an upload; its end is told with 0x1206. */
  async start(serial: number, request: UploadRequest, stretches: readonly Stretch[]): Promise<void> {
    const [first] = uploadFileNames(request.channel, stretches, this.#options);
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
      breaks: this.breaks,
      files: () => this.filesOf(request.channel, stretches),
      beforeClose: () => this.#noticeTooEarly(record),
      ended: (error) => this.#ended(record, error),
    });
    this.records.push(record);
    this.#jobs.set(serial, job);
    await job.run();
  }

  /** The files that a clip is uploaded as: the same bytes each time. */
  filesOf(channel: number, stretches: readonly Stretch[]): Promise<UploadFile[]> {
    return uploadFiles(this.#cameras, channel, stretches, this.#options);
  }

  /** 0x9207: what is to be done once it is answered, or null when it does not fit the upload's state. */
  control(serial: number, control: number): (() => void | Promise<void>) | null {
    const job = this.#jobs.get(serial);
    if (job === undefined) return null;
    const { state } = job.record;
    if (control === PAUSE && state === 'uploading') return () => job.pause();
    if (control === CANCEL && (state === 'uploading' || state === 'paused')) return () => this.#stop(job, 'cancelled');
    if (control !== RESUME || state !== 'paused' || this.isBusy) return null;
    return () => job.resume();
  }

  /** The terminal restarts: what runs loses its connections and goes on afterwards. */
  interrupt(): void {
    for (const job of this.#jobs.values()) if (job.record.state === 'uploading') job.interrupt();
  }

  /** Ends what runs or is paused, without a word to the platform. */
  close(): void {
    for (const job of Array.from(this.#jobs.values())) {
      this.#stop(job, job.record.state === 'paused' ? 'cancelled' : 'failed');
    }
  }

  #stop(job: UploadJob, state: 'cancelled' | 'failed'): void {
    job.stop(state);
    this.#jobs.delete(job.record.serial);
  }

  #ended(record: UploadRecord, error: string | null): void {
    record.state = error === null ? 'completed' : 'failed';
    record.error = error;
    this.#jobs.delete(record.serial);
    this.#options.onLog?.(`upload ${record.fileName} ${record.state}${error === null ? '' : `: ${error}`}`);
    const truth = error === null ? SUCCESS : FAILURE;
    const { uploadNotice = 'truth' } = this.#options;
    if (uploadNotice === 'never' || record.notice !== null) return;
    if (uploadNotice === 'failure') this.#notice(record, FAILURE);
    else this.#notice(record, uploadNotice === 'success' ? SUCCESS : truth);
  }

  async #noticeTooEarly(record: UploadRecord): Promise<void> {
    if (this.#options.uploadNotice !== 'early' || record.notice !== null) return;
    this.#notice(record, SUCCESS);
    await new Promise((resolve) => {
      setTimeout(resolve, EARLY_NOTICE_LEAD_MS);
    });
  }

  #notice(record: UploadRecord, result: number): void {
    record.notice = result;
    const body = { replySerial: record.serial, result };
    this.#sendReliably(messageOf(fileUploadResult, body, this.#options.edition));
  }
}
