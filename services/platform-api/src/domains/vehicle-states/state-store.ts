import { type Collection, type Database, findByIds, isDuplicateKey } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { writeThrottled } from '../../store/throttled-writes.ts';
import { lastLocationKey, terminalSuffix } from '../last-positions/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { VehicleState } from './vehicle-state.ts';

/** A state in MongoDB: queried fields beside the JSON of all. */
interface StoredState {
  readonly _id: string;
  readonly stream: string;
  readonly seq: number;
  readonly vehicleId: number;
  /** Device time of the newest report, ms. */
  readonly timestamp: number;
  readonly serverTimestamp: number;
  readonly state: string;
}

const collectionName = 'rule_states';
/** The stored name of `latestReadings`. */
const storedReadings = 'told';

type StoredVehicleState = Omit<VehicleState, 'latestReadings'> & {
  readonly [storedReadings]?: VehicleState['latestReadings'];
};

const encodeState = ({ latestReadings, ...state }: VehicleState): string =>
  JSON.stringify({ ...state, [storedReadings]: latestReadings } satisfies StoredVehicleState);

function parseState(text: string): VehicleState {
  const { [storedReadings]: latestReadings, ...state } = JSON.parse(text) as StoredVehicleState;
  return latestReadings === undefined ? state : { ...state, latestReadings };
}

/** Redis, and the settings that decide the keys: the keys of a partition are in one slot of a cluster. */
type StateDeps = Pick<Deps, 'redis' | 'config'>;
type Settings = Pick<Deps['config'], 'TELEMETRY_PARTITIONS'>;

const stateKey = (imei: string, config: Settings): string => `rule-state:${terminalSuffix(imei, config)}`;
/** Marks a terminal as removed, so that in-flight writes do not restore its state. */
const formerKey = (imei: string, config: Settings): string => `former-terminal:${terminalSuffix(imei, config)}`;
const readAtOnce = 500;
const idsPerPage = 5_000;
/** Longer than any replica caches the terminal's vehicle. */
const formerTtlSeconds = 3_600;

const statesIn = (database: Database): Collection<StoredState> => database.collection<StoredState>(collectionName);

// KEYS 1 offset, then 3 for each vehicle: state, location, former. ARGV 1 the expected offset ('' any, without one), 2
// the new offset, then the values
// of state and location, and their owner: values of a former owner are skipped. Returns 1, 2 if the expected offset is
// missing (Redis was emptied), or 0 if another replica has continued.
const applyScript = `
local known = redis.call('GET', KEYS[1])
if known and known ~= ARGV[1] then return 0 end
for i = 2, #KEYS, 3 do
  if redis.call('GET', KEYS[i + 2]) ~= ARGV[i + 3] then
    redis.call('SET', KEYS[i], ARGV[i + 1])
    redis.call('SET', KEYS[i + 1], ARGV[i + 2])
  end
end
redis.call('SET', KEYS[1], ARGV[2])
if not known and ARGV[1] ~= '' then return 2 end
return 1`;

// KEYS 1 state, 2 location. ARGV 1 the state that was read: a newer one remains.
const deleteScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1], KEYS[2]) end
return 1`;

// A terminal in a vehicle, since its assignment.
const ownerOf = (vehicleId: number, { terminalSinceMs }: Pick<VehicleState, 'terminalSinceMs'>): string =>
  `${vehicleId}@${terminalSinceMs ?? ''}`;

/** The Redis key of an offset, its expected value (empty: any, or none) and its next value. */
interface OffsetChange {
  readonly key: string;
  readonly expected: string;
  readonly next: string;
}

/**
 * Writes the states and last positions of a batch, and the offset, in one script. Writes nothing and returns `conflict`
 * if another replica has changed the offset; returns `emptied` if Redis has lost it.
 */
export async function writeStates(
  { redis, config }: StateDeps,
  { key, expected, next }: OffsetChange,
  states: ReadonlyMap<string, VehicleState>,
): Promise<'written' | 'emptied' | 'conflict'> {
  const keys = [key];
  const values = [expected, next];
  for (const [imei, state] of states) {
    keys.push(stateKey(imei, config), lastLocationKey(imei, config), formerKey(imei, config));
    values.push(encodeState(state), JSON.stringify(state.location), ownerOf(state.vehicleId, state));
  }
  const applied = await redis.eval(applyScript, { keys, arguments: values });
  if (applied === 0) return 'conflict';
  return applied === 2 ? 'emptied' : 'written';
}

/** Restores states of one partition in a Redis that lost them; existing ones are newer and remain. */
export async function restoreStates(
  { redis, config }: StateDeps,
  states: Iterable<readonly [string, VehicleState]>,
): Promise<void> {
  let many = redis.multi();
  let count = 0;
  for (const [imei, state] of states) {
    many
      .setNX(stateKey(imei, config), encodeState(state))
      .setNX(lastLocationKey(imei, config), JSON.stringify(state.location));
    count += 1;
    if (count % readAtOnce !== 0) continue;
    await many.execAsPipeline();
    many = redis.multi();
  }
  if (count % readAtOnce !== 0) await many.execAsPipeline();
}

/**
 * Yields the stored states of the terminals that `isMeant` accepts. Reads ids first, because states are large and most
 * belong to other partitions.
 */
export async function* allStoredStates(
  database: Database,
  isMeant: (imei: string) => boolean,
): AsyncGenerator<readonly [string, VehicleState]> {
  for (let after = ''; ; ) {
    const page = await statesIn(database)
      .find({ _id: { $gt: after } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(idsPerPage)
      .toArray();
    const last = page.at(-1);
    if (last === undefined) return;
    after = last._id;
    const ids = page.map(({ _id }) => _id).filter(isMeant);
    for (let at = 0; at < ids.length; at += readAtOnce)
      yield* await readStoredStates(database, ids.slice(at, at + readAtOnce));
  }
}

/**
 * Deletes the state of a terminal that leaves a vehicle: its next owner does not learn where it was, nor from in-flight
 * reports.
 */
export async function deleteTerminalState(
  { redis, config, records }: StateDeps & { readonly records: { readonly database: Database } },
  vehicle: Pick<Vehicle, '_id' | 'imei' | 'terminalSinceMs'>,
): Promise<void> {
  const { _id: vehicleId, imei } = vehicle;
  if (imei === null) return;
  await statesIn(records.database).deleteOne({ _id: imei });
  await redis
    .multi()
    .set(formerKey(imei, config), ownerOf(vehicleId, vehicle), { expiration: { type: 'EX', value: formerTtlSeconds } })
    .del([stateKey(imei, config), lastLocationKey(imei, config)])
    .exec();
}

/** Deletes the state left by a vehicle's previous terminal. State reported since the terminal moved is kept. */
export async function deletePreviousState(
  { redis, config, records }: StateDeps & { readonly records: { readonly database: Database } },
  { _id: vehicleId, imei }: Pick<Vehicle, '_id' | 'imei'>,
): Promise<void> {
  if (imei === null) return;
  await statesIn(records.database).deleteOne({ _id: imei, vehicleId });
  const text = await redis.get(stateKey(imei, config));
  if (text === null || parseState(text).vehicleId !== vehicleId) return;
  await redis.eval(deleteScript, {
    keys: [stateKey(imei, config), lastLocationKey(imei, config)],
    arguments: [text],
  });
}

/** Returns the states of terminals by canonical number: from Redis, and missing ones from MongoDB. */
export async function readStates(
  deps: StateDeps,
  database: Database,
  imeis: readonly string[],
): Promise<Map<string, VehicleState>> {
  const found = await readStatesOfRedis(deps, imeis);
  const missing = imeis.filter((imei) => !found.has(imei));
  for (const [imei, state] of await readStoredStates(database, missing)) found.set(imei, state);
  return found;
}

/** Returns the states in Redis, for readers. */
export async function readStatesOfRedis(
  { redis, config }: StateDeps,
  imeis: readonly string[],
): Promise<Map<string, VehicleState>> {
  const found = new Map<string, VehicleState>();
  for (let at = 0; at < imeis.length; at += readAtOnce) {
    const part = imeis.slice(at, at + readAtOnce);
    const texts = await redis.mGet(part.map((imei) => stateKey(imei, config)));
    for (const [index, text] of texts.entries()) if (text !== null) found.set(part[index] ?? '', parseState(text));
  }
  return found;
}

/** Returns MongoDB's states of terminals: never older than the stored offset of their partition, nor than a change. */
export async function readStoredStates(
  database: Database,
  imeis: readonly string[],
): Promise<Map<string, VehicleState>> {
  const stored = await findByIds(statesIn(database), imeis);
  return new Map(stored.map(({ _id, state }) => [_id, parseState(state)]));
}

/** Saves states to MongoDB; yields to other writers unless it is urgent. */
export async function storeStates(
  database: Database,
  states: ReadonlyMap<string, VehicleState>,
  isUrgent: () => boolean = () => true,
): Promise<void> {
  if (states.size === 0) return;
  const operations = [...states].map(([_id, state]) => {
    const { stream, seq, vehicleId, location } = state;
    const { timestamp, serverTimestamp } = location;
    const $set = { stream, seq, vehicleId, timestamp, serverTimestamp, state: encodeState(state) };
    return { updateOne: { filter: { _id }, update: { $set }, upsert: true } };
  });
  for (let attempt = 1; ; attempt += 1) {
    try {
      await writeThrottled(database, statesIn(database), operations, isUrgent);
      return;
    } catch (error) {
      // Two replicas create the same document: the second one finds it.
      if (!isDuplicateKey(error) || attempt >= 3) throw error;
    }
  }
}
