/** A slice of a long job. Other jobs and a stop of the service wait for it. */
export interface JobSlice {
  /** Position at which the previous slice ended; 1 starts from the beginning. */
  readonly from: number;
  /** Checked after each change, so that each slice makes progress. */
  readonly isOver: () => boolean;
}

const maxSliceMs = 20_000;

/** A slice without a time limit. */
export const unlimited: JobSlice = { from: 1, isOver: () => false };

/** Creates a slice that ends after `sliceMs`, or when the service stops. */
export function createJobSlice(from: number, signal: AbortSignal, sliceMs = maxSliceMs): JobSlice {
  const deadlineMs = performance.now() + sliceMs;
  return { from, isOver: () => signal.aborted || performance.now() >= deadlineMs };
}
