import type { StreamStopReason } from '@fleet/bus';

/** Reason why a stream ended. */
export type EndReason =
  | 'idle'
  | 'noData'
  | 'cameraLeft'
  | 'recordingEnded'
  | 'stopped'
  | 'takenOver'
  | 'replaced'
  | 'talkEnded'
  | 'dataBudgetSpent'
  | 'moved'
  | 'shutdown';

/** Returns the reason of an end if viewers need to know it. */
export function toStopReason(reason: EndReason): StreamStopReason | undefined {
  if (reason === 'dataBudgetSpent') return 'data_budget_spent';
  return reason === 'moved' ? 'moved' : undefined;
}

/** Returns true if another pod has the stream, or will have it. */
export const isContinuedElsewhere = (reason: EndReason): boolean => reason === 'takenOver' || reason === 'moved';
