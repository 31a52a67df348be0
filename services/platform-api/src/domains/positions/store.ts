import { terminalKey } from '@fleet/jt808';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import { pack, unpack } from './packing.ts';
import type { Bucket, NewPoint, Point, VehicleDays, Window } from './schema.ts';

const bucketMs = 600_000;
const dayMs = 86_400_000;

const bucketsIn = (database: Database): Collection<Bucket> => database.collection<Bucket>('position_buckets');
const daysIn = (database: Database): Collection<VehicleDays> => database.collection<VehicleDays>('position_days');

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const bucketIdOf = (imei: string, vehicleId: number, startMs: number): string =>
  `${imei}:${vehicleId}:${new Date(startMs).toISOString().slice(0, 16)}`;

/** Days that this process has seen in the database, so that it writes each once. */
const maxKnownDays = 200_000;
const knownDays = new WeakMap<Database, Set<string>>();

/**
 * Adds to the history of vehicles: one bulk write for all, and a second one where a vehicle's first point of a day is among them. The same points again add
 * nothing, so what has failed half-way is done again as a whole.
 */
export async function appendPositions(database: Database, items: readonly NewPoint[]): Promise<void> {
  if (items.length === 0) return;
  await recordDays(database, items);
  const operations = [...byBucket(items)].map(([_id, $set]) => ({
    updateOne: { filter: { _id }, update: { $set }, upsert: true },
  }));
  await untilMade(() => bucketsIn(database).bulkWrite(operations, { ordered: false }));
}

/** The fields that each bucket gets. */
function byBucket(items: readonly NewPoint[]): Map<string, Record<string, unknown>> {
  const buckets = new Map<string, Record<string, unknown>>();
  for (const item of items) {
    const { position, vehicleId, accountId, hash } = item;
    const startMs = Math.floor(position.timestamp / bucketMs) * bucketMs;
    const id = bucketIdOf(numberOf(position.imei), vehicleId, startMs);
    const fields = buckets.get(id) ?? { vehicleId, accountId, imei: position.imei };
    fields[`points.${position.timestamp - startMs}-${hash}`] = pack(item);
    buckets.set(id, fields);
  }
  return buckets;
}

/** Before the points themselves, so that none is stored that nobody would find. */
async function recordDays(database: Database, items: readonly NewPoint[]): Promise<void> {
  let known = knownDays.get(database);
  if (known === undefined || known.size > maxKnownDays) knownDays.set(database, (known = new Set()));
  const added: string[] = [];
  const vehicles = new Map<string, Record<string, unknown>>();
  for (const { position, vehicleId, accountId } of items) {
    const day = `${dayOf(position.timestamp)}:${numberOf(position.imei)}`;
    const key = `${vehicleId}:${day}`;
    if (known.has(key)) continue;
    const fields = vehicles.get(String(vehicleId)) ?? { vehicleId, accountId };
    fields[`days.${day}`] = 'full';
    vehicles.set(String(vehicleId), fields);
    added.push(key);
  }
  if (added.length === 0) return;
  const operations = [...vehicles].map(([_id, $set]) => ({
    updateOne: { filter: { _id }, update: { $set }, upsert: true },
  }));
  await untilMade(() => daysIn(database).bulkWrite(operations, { ordered: false }));
  for (const key of added) known.add(key);
}

function numberOf(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw new Error(`${imei} is no terminal number`);
  return key;
}

/** Two that make the same document at the same time: the second finds it there. */
async function untilMade(write: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await write();
      return;
    } catch (error) {
      if (!isDuplicateKey(error) || attempt >= 5) throw error;
    }
  }
}

const readAtOnce = 16;

/**
 * The history of a vehicle within a window, of all terminals that it has had: by device time, each report once. It is read as it is asked for, a few
 * buckets ahead.
 */
export async function* readPositions(database: Database, vehicleId: number, window: Window): AsyncGenerator<Point> {
  const known = await daysIn(database).findOne({ _id: String(vehicleId) });
  for (const group of groupsOf(known, vehicleId, window)) {
    const buckets = await Promise.all(group.map((_id) => bucketsIn(database).findOne({ _id })));
    yield* pointsOf(buckets.filter((bucket) => bucket !== null) as Bucket[], window);
  }
}

/** Ids of buckets in groups whose times follow one another. */
function* groupsOf(known: VehicleDays | null, vehicleId: number, window: Window): Generator<string[]> {
  const imeis = imeisByDay(known);
  let group: string[] = [];
  for (const [day, ofDay] of imeis) {
    const startMs = Date.parse(day);
    if (startMs + dayMs <= window.fromMs || startMs > window.toMs) continue;
    for (let atMs = startMs; atMs < startMs + dayMs; atMs += bucketMs) {
      if (atMs + bucketMs <= window.fromMs || atMs > window.toMs) continue;
      group.push(...ofDay.map((imei) => bucketIdOf(imei, vehicleId, atMs)));
      if (group.length < readAtOnce) continue;
      yield group;
      group = [];
    }
  }
  if (group.length > 0) yield group;
}

/** Which terminals have reported, by days in their order. */
function imeisByDay(known: VehicleDays | null): [string, string[]][] {
  const days = new Map<string, string[]>();
  for (const key of Object.keys(known?.days ?? {}).toSorted()) {
    const [day = '', imei = ''] = key.split(':');
    days.set(day, [...(days.get(day) ?? []), imei]);
  }
  return [...days];
}

/** The points of some buckets within a window, in order; a report that a terminal has sent twice counts once. */
function pointsOf(buckets: readonly Bucket[], { fromMs, toMs }: Window): Point[] {
  const found: Point[] = [];
  for (const { _id, imei, points } of buckets) {
    const startMs = Date.parse(`${_id.slice(-16)}Z`);
    for (const [key, packed] of Object.entries(points)) {
      const atMs = startMs + Number.parseInt(key, 10);
      if (atMs >= fromMs && atMs <= toMs) found.push(unpack(packed, imei, atMs));
    }
  }
  return found.toSorted((a, b) => a.position.timestamp - b.position.timestamp);
}

/** Which of some reports are in the history already, as a function of a position and its hash. */
export async function knownPoints(
  database: Database,
  asked: readonly {
    readonly imei: string;
    readonly vehicleId: number;
    readonly timestamp: number;
    readonly hash: string;
  }[],
): Promise<(position: { readonly imei: string; readonly timestamp: number }, hash: string) => boolean> {
  if (asked.length === 0) return () => false;
  const startOf = (timestamp: number): number => Math.floor(timestamp / bucketMs) * bucketMs;
  const ids = new Set(asked.map(({ imei, vehicleId, timestamp }) => bucketIdOf(imei, vehicleId, startOf(timestamp))));
  const buckets = await bucketsIn(database)
    .find({ _id: { $in: [...ids] } })
    .toArray();
  const known = new Set<string>();
  for (const { _id, points } of buckets)
    for (const key of Object.keys(points))
      known.add(`${_id.slice(0, _id.indexOf(':'))}:${Date.parse(`${_id.slice(-16)}Z`)}:${key}`);
  return ({ imei, timestamp }, hash) => {
    const startMs = startOf(timestamp);
    return known.has(`${numberOf(imei)}:${startMs}:${timestamp - startMs}-${hash}`);
  };
}
