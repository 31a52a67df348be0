import { dayMs } from '@fleet/service-kit';
import type { RecordStore } from '../../store/record-store.ts';
import { findOpen } from './store.ts';

/** Severities that count as open until they are acknowledged, the highest first. */
const openSeverities = ['critical', 'warning'] as const;
export type OpenSeverity = (typeof openSeverities)[number];

/** Older events no longer mark a vehicle. */
export const openEventDays = 7;

/** Returns the highest severity of the recent events of each vehicle without an acknowledgement. */
export async function findOpenSeverities(
  records: RecordStore,
  of: { readonly accountId: number; readonly vehicleIds?: readonly number[] },
  nowMs = Date.now(),
): Promise<Map<number, OpenSeverity>> {
  const found = new Map<number, OpenSeverity>();
  for (const severity of openSeverities)
    for (const { vehicleId } of await findOpen(records, of, severity, new Date(nowMs - openEventDays * dayMs)))
      if (!found.has(vehicleId)) found.set(vehicleId, severity);
  return found;
}
