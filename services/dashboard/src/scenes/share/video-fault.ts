import type { StreamChange } from './shared-view.ts';

export type VideoFault =
  | 'offline'
  | 'asleep'
  | 'refused'
  | 'budget'
  | 'busy'
  | 'forbidden'
  | 'unsupported'
  | 'stopped'
  | 'lost';

const budgetSpent = 'data_budget_spent';

/** Returns the fault of a refused stream by its status; null if a new attempt may help. */
export function toVideoFault(status: number | null, code?: string): VideoFault | null {
  if (code === budgetSpent) return 'budget';
  if (status === 403) return 'forbidden';
  if (status === 404) return 'offline';
  if (status === 429) return 'busy';
  if (status === 502) return 'refused';
  return status === 504 ? 'asleep' : null;
}

/** Returns why a stream that played is over; null if it was only interrupted. */
export function toEndFault({ status, reason }: Pick<StreamChange, 'status' | 'reason'>): VideoFault | null {
  if (status !== 'stopped') return null;
  if (reason?.code === budgetSpent) return 'budget';
  return reason?.code === 'stopped' ? 'stopped' : null;
}
