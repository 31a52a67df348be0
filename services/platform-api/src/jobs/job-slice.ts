/** A part of a sweep that may be long: other sweeps, and a stop, wait for it. */
export interface JobSlice {
  /** Where the turn before has left off; 1 where all is to be looked at from the beginning. */
  readonly from: number;
  /** Asked behind each change, so that each turn comes further. */
  readonly isOver: () => boolean;
}

const maxSliceMs = 20_000;

/** All of it, however long that takes. */
export const unlimited: JobSlice = { from: 1, isOver: () => false };

/** A turn that is over when its time has passed, or when the service stops. */
export function createJobSlice(from: number, signal: AbortSignal, sliceMs = maxSliceMs): JobSlice {
  const deadlineMs = performance.now() + sliceMs;
  return { from, isOver: () => signal.aborted || performance.now() >= deadlineMs };
}
