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
  | 'shutdown';

/** Returns the reason of an end if viewers need to know it. */
export const toStopReason = (reason: EndReason): StreamStopReason | undefined =>
  reason === 'dataBudgetSpent' ? 'data_budget_spent' : undefined;
