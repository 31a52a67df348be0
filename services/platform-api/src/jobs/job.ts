import type { Deps } from '../platform/deps.ts';
import type { JobSlice } from './job-slice.ts';

interface JobTiming {
  readonly name: string;
  readonly everyMs: number;
}

/** Periodic work that one replica runs for all. */
interface SimpleJob extends JobTiming {
  readonly run: (deps: Deps) => Promise<unknown>;
}

/** Long work, one slice a minute. A slice returns where the next one continues, or null when all is done; `everyMs` is the pause after that. */
export interface SlicedJob extends JobTiming {
  readonly runSlice: (deps: Deps, slice: JobSlice) => Promise<number | null>;
}

export type Job = SimpleJob | SlicedJob;
