import { type Database, isDuplicateKey } from '@fleet/storage';
import type { Deps } from '../platform/deps.ts';
import type { Job, SlicedJob } from './job.ts';
import { createJobSlice } from './job-slice.ts';

interface JobState {
  readonly _id: string;
  readonly dueAt: Date;
  /** Position at which the next slice of a long job starts. */
  readonly next?: number;
}

const pollIntervalMs = 30_000;
/** Longer than a slice takes. */
const sliceIntervalMs = 60_000;

const jobStateCollection = (database: Database) => database.collection<JobState>('sweeps');
const addMs = (now: Date, ms: number): Date => new Date(now.getTime() + ms);

/**
 * Claims a due job for this replica. Returns false if another replica has claimed it. A claim lasts until the job is
 * due again.
 */
async function claimRun(database: Database, job: Job, now: Date): Promise<boolean> {
  const { name: _id, everyMs } = job;
  const next = { dueAt: addMs(now, 'runSlice' in job ? sliceIntervalMs : everyMs) };
  const claimed = await jobStateCollection(database).updateOne({ _id, dueAt: { $lte: now } }, { $set: next });
  if (claimed.modifiedCount === 1) return true;
  try {
    await jobStateCollection(database).insertOne({ _id, ...next });
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

/**
 * Runs the next slice of a long job. The job pauses for `everyMs` once all is done, and is due again in a minute until
 * then.
 */
async function runSlice(deps: Deps, job: SlicedJob, now: Date, signal: AbortSignal): Promise<void> {
  const { name: _id, everyMs } = job;
  const state = await jobStateCollection(deps.database).findOne({ _id });
  const next = await job.runSlice(deps, createJobSlice(state?.next ?? 1, signal));
  const change = next === null ? { next: 1, dueAt: addMs(now, everyMs) } : { next };
  await jobStateCollection(deps.database).updateOne({ _id }, { $set: change });
}

/** Runs the due jobs that this replica can claim. */
export async function runDueJobs(
  deps: Deps,
  jobs: readonly Job[],
  now = new Date(),
  signal: AbortSignal = new AbortController().signal,
): Promise<void> {
  for (const job of jobs) {
    if (signal.aborted) return;
    try {
      if (!(await claimRun(deps.database, job, now))) continue;
      if ('runSlice' in job) await runSlice(deps, job, now, signal);
      else await job.run(deps);
    } catch (error) {
      // The next run does what this one did not complete.
      deps.log.warn({ err: error, job: job.name }, 'a job failed');
    }
  }
}

/** Checks twice a minute for due jobs, once the first records exist. */
export class JobScheduler {
  readonly #timer: NodeJS.Timeout;
  readonly #stopped = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(deps: Deps, jobs: readonly Job[], isReady: () => boolean) {
    this.#timer = setInterval(() => {
      if (isReady()) this.#running = this.#running.then(() => runDueJobs(deps, jobs, new Date(), this.#stopped.signal));
    }, pollIntervalMs);
  }

  /** Starts no other job and waits for the running one; a slice ends after a few writes. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#running;
  }
}
