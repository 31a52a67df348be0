import type { Deps } from '../../platform/deps.ts';
import { notificationCollection } from './store.ts';
import type { Severity } from './types.ts';

/** Type, severity and time of a notification of a vehicle. */
export interface NotificationTime {
  readonly type: string;
  readonly severity: Severity;
  /** Device time, ms. */
  readonly timestamp: number;
}

/** Returns the types, severities and times of the notifications of a vehicle between two times, both included. */
export const findNotificationTimes = (
  { records }: Pick<Deps, 'records'>,
  vehicle: { readonly accountId: number; readonly _id: number },
  window: { readonly fromMs: number; readonly toMs: number },
): Promise<NotificationTime[]> =>
  notificationCollection(records).project({ accountId: vehicle.accountId }, ['type', 'severity', 'timestamp'], {
    vehicleId: vehicle._id,
    timestamp: { $gte: window.fromMs, $lte: window.toMs },
  });
