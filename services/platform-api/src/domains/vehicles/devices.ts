import { type Database, findByIds } from '@fleet/storage';
import { lastHeardMs } from '../last-positions/rules.ts';
import type { DeviceShown } from './schema.ts';
import type { VehicleNow } from './states.ts';

/** What is known of a terminal beside its session; `_id` is the canonical number. */
export interface DeviceRecord {
  readonly _id: string;
  readonly edition?: '2011' | '2013' | '2019';
  readonly manufacturer?: string;
  readonly model?: string;
  readonly terminalId?: string;
  readonly iccid?: string;
  readonly firmware?: string;
  /** When it was last heard of, as far as that was noted: as it came, went, or told of itself. */
  readonly seenMs?: number;
  /** Whether it was offline at last, and noticed to be so. */
  readonly isOffline?: boolean;
  readonly updatedAt: Date;
}

/** What can be changed of it. */
export type DeviceChange = Omit<DeviceRecord, '_id' | 'updatedAt'>;

const collectionName = 'devices';

const devicesIn = (database: Database) => database.collection<DeviceRecord>(collectionName);

/** Keeps what has been learnt of a terminal. */
export async function noteDevice(database: Database, imei: string, change: DeviceChange): Promise<void> {
  await devicesIn(database).updateOne({ _id: imei }, { $set: { ...change, updatedAt: new Date() } }, { upsert: true });
}

/** What is known of terminals, by canonical number. */
export async function findDevices(database: Database, imeis: readonly string[]): Promise<Map<string, DeviceRecord>> {
  const found = await findByIds(devicesIn(database), imeis);
  return new Map(found.map((device) => [device._id, device]));
}

/** Those that were not known to be offline, some at a time in the order of their numbers. */
export const findOnlineDevices = (database: Database, after: string, limit: number): Promise<DeviceRecord[]> =>
  devicesIn(database)
    .find({ _id: { $gt: after }, isOffline: false })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** The present of a terminal with what it has told of itself; one that is away is shown by its record. */
export function withDetails(now: VehicleNow | undefined, record: DeviceRecord | undefined): VehicleNow | undefined {
  if (now === undefined || record === undefined) return now;
  const base = now.device ?? awayDevice(now, record);
  if (base === null) return now;
  const { manufacturer = null, model = null, terminalId = null, iccid = null, firmware = null } = record;
  return { ...now, device: { ...base, manufacturer, model, terminal_id: terminalId, iccid, firmware } };
}

function awayDevice({ location }: VehicleNow, { edition, seenMs = 0 }: DeviceRecord): DeviceShown | null {
  if (edition === undefined) return null;
  const lastSeenMs = Math.max(seenMs, location === null ? 0 : lastHeardMs(location));
  return {
    protocol: `jt808-${edition}`,
    manufacturer: null,
    model: null,
    terminal_id: null,
    iccid: null,
    firmware: null,
    connected: false,
    connected_since: null,
    last_seen: lastSeenMs === 0 ? null : new Date(lastSeenMs).toISOString(),
  };
}
