/** A part of a sweep that may be long: other sweeps, and a stop, wait for it. */
export interface SweepTurn {
  /** Where the turn before has left off; 1 where all is to be looked at from the beginning. */
  readonly from: number;
  /** Asked behind each change, so that each turn comes further. */
  readonly isOver: () => boolean;
}

const longestTurnMs = 20_000;

/** All of it, however long that takes. */
export const wholeSweep: SweepTurn = { from: 1, isOver: () => false };

/** A turn that is over when its time has passed, or when the service stops. */
export function sweepTurn(from: number, stopped: AbortSignal, turnMs = longestTurnMs): SweepTurn {
  const untilMs = performance.now() + turnMs;
  return { from, isOver: () => stopped.aborted || performance.now() >= untilMs };
}
