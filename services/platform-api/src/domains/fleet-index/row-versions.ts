import { crc32 } from 'node:zlib';
import { hourMs } from '@fleet/service-kit';
import type { Redis } from '@fleet/storage';
import type { Viewer } from '../vehicles/visibility.ts';
import type { FleetRow } from './schema.ts';

/** A row that a caller received: a hash of its values, null after it became invisible, and the time of that change. */
interface RowVersion {
  readonly hash: number | null;
  readonly changedAtMs: number;
}

/** The rows of a caller with the times of their changes. */
export interface FleetVersions {
  /** Changes before this time are not known. */
  readonly sinceMs: number;
  readonly rows: ReadonlyMap<number, RowVersion>;
}

/** The stored form: vehicle id, hash and time of each row, one after another. */
interface StoredVersions {
  readonly sinceMs: number;
  readonly values: readonly (number | null)[];
}

/** A client that was away for longer reads all rows. */
const ttlSeconds = hourMs / 1_000;

const keyOf = ({ accountId, userId }: Viewer): string => `fleet-versions:${accountId}:${userId}`;

/** Returns the versions of the last response to a caller; null without one in the last hour. */
export async function readVersions(redis: Redis, caller: Viewer): Promise<FleetVersions | null> {
  const text = await redis.get(keyOf(caller));
  if (text === null) return null;
  const { sinceMs, values } = JSON.parse(text) as StoredVersions;
  const rows = new Map<number, RowVersion>();
  for (let at = 0; at < values.length; at += 3)
    rows.set(Number(values[at]), { hash: values[at + 1] ?? null, changedAtMs: Number(values[at + 2]) });
  return { sinceMs, rows };
}

/** Stores the versions of a response. Concurrent responses may repeat a change, but lose none. */
export async function storeVersions(redis: Redis, caller: Viewer, { sinceMs, rows }: FleetVersions): Promise<void> {
  const values = [...rows].flatMap(([id, { hash, changedAtMs }]) => [id, hash, changedAtMs]);
  const stored: StoredVersions = { sinceMs, values };
  await redis.set(keyOf(caller), JSON.stringify(stored), { expiration: { type: 'EX', value: ttlSeconds } });
}

/** Returns the versions of the current rows: a changed or new row, and one that became invisible, changed now. */
export function nextVersions(
  known: FleetVersions | null,
  rows: ReadonlyMap<number, FleetRow>,
  nowMs: number,
): FleetVersions {
  const next = new Map<number, RowVersion>();
  const oldestMs = nowMs - ttlSeconds * 1_000;
  const add = (id: number, hash: number | null): void => {
    const before = known?.rows.get(id);
    next.set(id, before?.hash === hash ? before : { hash, changedAtMs: nowMs });
  };
  for (const [id, row] of rows) add(id, crc32(JSON.stringify(row)));
  for (const [id, { hash, changedAtMs }] of known?.rows ?? [])
    if (!next.has(id) && (hash !== null || changedAtMs >= oldestMs)) add(id, null);
  return { sinceMs: Math.max(known?.sinceMs ?? nowMs, oldestMs), rows: next };
}
