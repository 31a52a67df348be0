import { type Database, findByIds } from '@fleet/storage';
import { lastReceivedMs } from '../last-positions/rules.ts';
import { type StoredDeviceDetails, toDetailsResponse } from './device-details.ts';
import type { VehicleLiveState } from './live-states.ts';
import type { DeviceResponse } from './schema.ts';

/** Data of a terminal besides its session; `_id` is the canonical number. */
interface DeviceRecord extends StoredDeviceDetails {
  readonly _id: string;
  readonly edition?: '2011' | '2013' | '2019';
  /** Time of the last recorded activity: a connect, a disconnect, or a message about the terminal itself. */
  readonly seenMs?: number;
  /** True if the terminal was last detected as offline. */
  readonly isOffline?: boolean;
  readonly updatedAt: Date;
}

/** Fields that can be changed. */
export type DeviceChange = Omit<DeviceRecord, '_id' | 'updatedAt'>;

const collectionName = 'devices';

const deviceCollection = (database: Database) => database.collection<DeviceRecord>(collectionName);

/** Stores data about a terminal. */
export async function upsertDevice(database: Database, imei: string, change: DeviceChange): Promise<void> {
  await deviceCollection(database).updateOne(
    { _id: imei },
    { $set: { ...change, updatedAt: new Date() } },
    { upsert: true },
  );
}

/** Returns the data of terminals by canonical number. */
export async function findDevices(database: Database, imeis: readonly string[]): Promise<Map<string, DeviceRecord>> {
  const found = await findByIds(deviceCollection(database), imeis);
  return new Map(found.map((device) => [device._id, device]));
}

/** Returns terminals that were not detected as offline, a limited number in the order of their numbers. */
export const findOnlineDevices = (database: Database, after: string, limit: number): Promise<DeviceRecord[]> =>
  deviceCollection(database)
    .find({ _id: { $gt: after }, isOffline: false })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Adds the recorded data of a terminal to its current state. A disconnected terminal is described by its record. */
export function withDeviceDetails(
  liveState: VehicleLiveState | undefined,
  record: DeviceRecord | undefined,
): VehicleLiveState | undefined {
  if (liveState === undefined || record === undefined) return liveState;
  const base = liveState.device ?? toDisconnectedDevice(liveState, record);
  if (base === null) return liveState;
  return { ...liveState, device: { ...base, ...toDetailsResponse(record) } };
}

function toDisconnectedDevice(
  { location }: VehicleLiveState,
  { edition, seenMs = 0 }: DeviceRecord,
): DeviceResponse | null {
  if (edition === undefined) return null;
  const lastSeenMs = Math.max(seenMs, location === null ? 0 : lastReceivedMs(location));
  return {
    protocol: `jt808-${edition}`,
    ...toDetailsResponse({}),
    connected: false,
    connected_since: null,
    last_seen: lastSeenMs === 0 ? null : new Date(lastSeenMs).toISOString(),
  };
}
