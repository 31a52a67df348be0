import { randomUUID } from 'node:crypto';
import { AppError, type Logger, runPeriodically } from '@fleet/service-kit';
import type { Mp4JobRepository, Mp4Outcome, UploadRecord } from '@fleet/storage';
import type { ClipStorage } from './clip-storage.ts';
import { FfmpegError } from './ffmpeg.ts';
import type { Mp4Converter } from './mp4-converter.ts';

interface Mp4JobsDeps {
  readonly jobs: Mp4JobRepository;
  readonly converter: Mp4Converter;
  readonly findStorage: (upload: UploadRecord) => ClipStorage;
  /** Pods whose files this process can read. */
  readonly podIds: readonly string[];
  readonly concurrency: number;
  /** Called after each change of a job. */
  readonly onChanged: (upload: UploadRecord) => void;
  readonly log: Logger;
}

/** A job of a process that died is claimed again after this time. */
const claimTtlMs = 10_000;
const renewIntervalMs = 1_000;
const pollIntervalMs = 2_000;

interface RunningJob {
  /** Renews the claim at once, which detects a cancellation. */
  readonly renew: () => Promise<void>;
}

/** Runs the conversions that users have requested, at most `concurrency` at once. Any number of pods share the queue. */
export class Mp4Jobs {
  readonly #deps: Mp4JobsDeps;
  readonly #token = randomUUID();
  readonly #running = new Map<string, RunningJob>();
  #isStopping = false;
  #filling: Promise<void> | undefined;
  #stopPolling: (() => Promise<void>) | undefined;

  constructor(deps: Mp4JobsDeps) {
    this.#deps = deps;
  }

  start(): void {
    const onError = (error: unknown): void => this.#deps.log.warn({ err: error }, 'could not claim an MP4 conversion');
    this.#stopPolling = runPeriodically(pollIntervalMs, () => this.#fill(), onError);
  }

  /** Reacts to a requested or canceled conversion. */
  async onRequest(uploadId: string): Promise<void> {
    await (this.#running.get(uploadId)?.renew() ?? this.#fill());
  }

  /** Returns running jobs to the queue. The converter must stop afterwards, which ends them. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#stopPolling?.();
    await this.#filling;
    for (const id of this.#running.keys()) await this.#deps.jobs.release(id, this.#token);
  }

  /** Claims jobs until all slots are used. Concurrent calls share one run. */
  #fill(): Promise<void> {
    this.#filling ??= this.#claimAll().finally(() => (this.#filling = undefined));
    return this.#filling;
  }

  async #claimAll(): Promise<void> {
    const { jobs, podIds, concurrency } = this.#deps;
    while (!this.#isStopping && this.#running.size < concurrency) {
      const upload = await jobs.claimNext(podIds, { token: this.#token, ttlMs: claimTtlMs });
      if (upload === null) return;
      this.#deps.onChanged(upload);
      this.#start(upload);
    }
  }

  #start(upload: UploadRecord): void {
    const { jobs, log } = this.#deps;
    const { _id: id } = upload;
    const abort = new AbortController();
    let percent = 0;
    let savedPercent = 0;
    const renew = async (): Promise<void> => {
      const renewed = await jobs.renew(id, { token: this.#token, ttlMs: claimTtlMs }, percent);
      if (renewed === null) return abort.abort();
      if (percent !== savedPercent) this.#deps.onChanged(renewed);
      savedPercent = percent;
    };
    const onError = (error: unknown): void => log.warn({ err: error, uploadId: id }, 'could not renew a conversion');
    const stopRenewing = runPeriodically(renewIntervalMs, renew, onError);
    const onProgress = (fraction: number): void => {
      percent = Math.max(percent, Math.min(99, Math.floor(fraction * 100)));
    };
    this.#running.set(id, { renew });
    const run = async (): Promise<void> => {
      try {
        await this.#convert(upload, { signal: abort.signal, onProgress });
      } finally {
        await stopRenewing();
        this.#running.delete(id);
      }
      if (!this.#isStopping) await this.#fill();
    };
    run().catch((error: unknown) => log.warn({ err: error, uploadId: id }, 'could not end an MP4 conversion'));
  }

  async #convert(
    upload: UploadRecord,
    options: { readonly signal: AbortSignal; readonly onProgress: (fraction: number) => void },
  ): Promise<void> {
    const { converter, findStorage, jobs, onChanged } = this.#deps;
    let outcome: Mp4Outcome;
    try {
      converter.deleteFailure(upload._id);
      const { sizeBytes } = await converter.getMp4(upload, findStorage(upload), options);
      outcome = { status: 'completed', sizeBytes };
    } catch (error) {
      // The job was canceled, claimed by another process, or returned to the queue.
      if (options.signal.aborted || this.#isStopping) return;
      outcome = toOutcome(error);
    }
    const finished = await jobs.finish(upload._id, this.#token, outcome);
    if (finished !== null) onChanged(finished);
  }
}

/** Only a clip that ffmpeg cannot read is refused for good; everything else can be retried. */
function toOutcome(error: unknown): Mp4Outcome {
  const isUnreadable = error instanceof AppError && error.code === 'unreadable_document';
  const isTimeout = error instanceof AppError && error.cause instanceof FfmpegError && error.cause.isTimeout;
  const sentence = error instanceof AppError ? error.message : 'The clip could not be converted. Retry.';
  return { status: 'failed', error: sentence, isRefused: isUnreadable && !isTimeout };
}
