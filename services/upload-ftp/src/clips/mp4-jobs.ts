import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError, type Logger, runPeriodically } from '@fleet/service-kit';
import type { Mp4Job, Mp4JobRepository, Mp4Outcome, UploadRecord } from '@fleet/storage';
import type { ClipStorage } from './clip-storage.ts';
import { FfmpegError } from './ffmpeg.ts';
import type { Mp4Converter } from './mp4-converter.ts';

interface Mp4JobsDeps {
  readonly jobs: Mp4JobRepository;
  readonly converter: Mp4Converter;
  readonly findStorage: (upload: UploadRecord) => ClipStorage;
  readonly concurrency: number;
  readonly log: Logger;
}

/** Known once the service has its address and the bus. */
interface StartOptions {
  /** Pods whose files this process can read. */
  readonly podIds: readonly string[];
  /** Called after each change of a job. */
  readonly onChanged: (upload: UploadRecord) => void;
}

/** A job of a process that died is claimed again after this time. */
const claimTtlMs = 10_000;
const renewIntervalMs = 1_000;
const pollIntervalMs = 2_000;
/** Interval at which a request that waits for a conversion reads its job. */
const waitIntervalMs = 200;

interface RunningJob {
  /** Renews the claim at once, which detects a cancellation. */
  readonly renew: () => Promise<void>;
}

/** Runs the conversions that users have requested, at most `concurrency` at once. Any number of pods share the queue. */
export class Mp4Jobs {
  readonly #deps: Mp4JobsDeps;
  readonly #token = randomUUID();
  readonly #running = new Map<string, RunningJob>();
  #options: StartOptions = { podIds: [], onChanged: () => undefined };
  #isStopping = false;
  #filling: Promise<void> | undefined;
  #stopPolling: (() => Promise<void>) | undefined;

  constructor(deps: Mp4JobsDeps) {
    this.#deps = deps;
  }

  start(options: StartOptions): void {
    this.#options = options;
    const onError = (error: unknown): void => this.#deps.log.warn({ err: error }, 'could not claim an MP4 conversion');
    this.#stopPolling = runPeriodically(pollIntervalMs, () => this.#fill(), onError);
  }

  /** Reacts to a requested or canceled conversion. */
  async onRequest(uploadId: string): Promise<void> {
    await (this.#running.get(uploadId)?.renew() ?? this.#fill());
  }

  /**
   * Queues a conversion, unless it is queued or running, and waits for its end. Throws 422 for a clip that cannot be
   * converted, and 503 if it is not converted in time.
   */
  async convert(uploadId: string, timeoutMs: number): Promise<void> {
    const { jobs } = this.#deps;
    const deadlineMs = performance.now() + timeoutMs;
    const queued = await jobs.request(uploadId, { isMissing: true });
    if (queued !== null) this.#options.onChanged(queued);
    await this.onRequest(uploadId);
    while (!isConverted(await jobs.find(uploadId))) {
      if (performance.now() >= deadlineMs) throw notFinishedError();
      await delay(Math.min(waitIntervalMs, timeoutMs));
    }
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
    const { jobs, concurrency } = this.#deps;
    const { podIds, onChanged } = this.#options;
    while (!this.#isStopping && this.#running.size < concurrency) {
      const upload = await jobs.claimNext(podIds, { token: this.#token, ttlMs: claimTtlMs });
      if (upload === null) return;
      onChanged(upload);
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
      if (percent !== savedPercent) this.#options.onChanged(renewed);
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
    const { converter, findStorage, jobs } = this.#deps;
    let outcome: Mp4Outcome;
    try {
      const { sizeBytes } = await converter.getMp4(upload, findStorage(upload), options);
      outcome = { status: 'completed', sizeBytes };
    } catch (error) {
      // The job was canceled, claimed by another process, or returned to the queue.
      if (options.signal.aborted || this.#isStopping) return;
      outcome = toOutcome(error);
    }
    const finished = await jobs.finish(upload._id, this.#token, outcome);
    if (finished !== null) this.#options.onChanged(finished);
  }
}

/** Returns whether a conversion is completed. Throws why it has ended otherwise. */
function isConverted(job: Mp4Job | null): boolean {
  if (job === null) throw new AppError('not_found', 'There is no upload with this video_id.');
  const { status, isRefused } = job;
  if (status === 'canceled') throw new AppError('unavailable', 'The MP4 conversion was canceled. Retry.');
  if (status !== 'failed') return status === 'completed';
  const sentence = job.error ?? 'The clip could not be converted.';
  if (isRefused) throw new AppError('unreadable_document', sentence);
  throw new AppError('unavailable', sentence, { headers: { 'Retry-After': '60' } });
}

const notFinishedError = (): AppError =>
  new AppError('unavailable', 'The MP4 conversion is not finished yet. Retry later.', {
    headers: { 'Retry-After': '5' },
  });

// Only a clip that ffmpeg cannot read is refused for good; everything else can be retried.
function toOutcome(error: unknown): Mp4Outcome {
  const isUnreadable = error instanceof AppError && error.code === 'unreadable_document';
  const isTimeout = error instanceof AppError && error.cause instanceof FfmpegError && error.cause.isTimeout;
  const sentence = error instanceof AppError ? error.message : 'The clip could not be converted. Retry.';
  return { status: 'failed', error: sentence, isRefused: isUnreadable && !isTimeout };
}
