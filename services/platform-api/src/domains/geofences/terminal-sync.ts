import { createHash } from 'node:crypto';
import type { Edition } from '@fleet/jt808';
import { dayMs } from '@fleet/service-kit';
import { type Collection, type Database, readDevice, readDevices } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';
import type { Geofence, SyncState } from './schema.ts';
import { geofenceCollection } from './store.ts';
import { type AreaKind, type AreaMessage, encodeArea, encodeAreaDeletion } from './terminal-areas.ts';

type SyncDeps = Pick<Deps, 'database' | 'records' | 'redis' | 'commandClient' | 'log'>;

/** Area that was sent to a terminal. `_id` is `<canonical number>:<geofence id>`. */
interface SentArea {
  readonly _id: string;
  readonly accountId: number;
  readonly geofenceId: number;
  readonly imei: string;
  /** Kind of the area that the terminal may have stored, even if it has not responded. */
  readonly kind: AreaKind | null;
  /** Digest of the message that was sent. */
  readonly digest: string;
  readonly state: SyncState;
  readonly attempts: number;
  readonly retryAt: Date;
}

/** Area that a terminal should store. */
interface WantedArea {
  readonly imei: string;
  readonly geofence: Geofence;
}

const responseTimeoutMs = 15_000;
/** Time after which a run starts no more work; the next run continues. */
const runBudgetMs = 20_000;
const concurrency = 8;
const retryDelayMs = 600_000;
const maxRetryDelayMs = dayMs;
/** Largest number of attempts to delete an area, in case the terminal never responds. */
const maxDeleteAttempts = 30;

const sentAreaCollectionName = 'geofence_terminals';
const sentAreaCollection = (database: Database): Collection<SentArea> =>
  database.collection<SentArea>(sentAreaCollectionName);

/**
 * Synchronizes terminals with the geofences. Sends areas that are missing or have changed, and deletes areas that a
 * terminal should not have. Offline terminals wait until they reconnect. Runs on one replica at a time. Repeating it
 * changes nothing, as an area is deleted before it is sent again.
 */
export async function syncTerminals(deps: SyncDeps, now = new Date()): Promise<void> {
  const accountIds = new Set<number>([
    ...(await findAccountIds(deps.database, 'geofences', { pushToTerminal: true })),
    ...(await findAccountIds(deps.database, sentAreaCollectionName, {})),
  ]);
  const untilMs = performance.now() + runBudgetMs;
  for (const accountId of accountIds) {
    if (performance.now() > untilMs) return;
    await syncAccount(deps, accountId, now, untilMs);
  }
}

/** Returns the accounts that have documents in a collection. Each query moves to the index key of the next account. */
async function findAccountIds(database: Database, collection: string, where: object): Promise<number[]> {
  const ids: number[] = [];
  for (;;) {
    const [next] = await database
      .collection<{ accountId: number }>(collection)
      .find({ ...where, accountId: { $gt: ids.at(-1) ?? 0 } }, { projection: { accountId: 1 } })
      .sort({ accountId: 1 })
      .limit(1)
      .toArray();
    if (next === undefined) return ids;
    ids.push(next.accountId);
  }
}

async function syncAccount(deps: SyncDeps, accountId: number, now: Date, untilMs: number): Promise<void> {
  const scope = { accountId };
  const [assignments, geofences, sent] = await Promise.all([
    GeofenceAssignments.read(deps, scope),
    geofenceCollection(deps.records).all(scope, { pushToTerminal: true }),
    sentAreaCollection(deps.database).find({ accountId }).toArray(),
  ]);
  const wanted = new Map<string, WantedArea>();
  for (const geofence of geofences)
    for (const { imei } of assignments.vehiclesOf(geofence))
      if (imei !== null) wanted.set(`${imei}:${geofence._id}`, { imei, geofence });
  const known = new Map(sent.map((area) => [area._id, area]));
  const imeis = [...new Set([...wanted.values(), ...sent].map(({ imei }) => imei))];
  const online = await readDevices(deps.redis, imeis);
  // Each terminal gets one request after another.
  const queue = imeis.filter((imei) => online.has(imei));
  const worker = async (): Promise<void> => {
    for (let imei = queue.shift(); imei !== undefined; imei = queue.shift()) {
      const edition = online.get(imei)?.edition ?? '2013';
      const terminal = { imei, edition, deps, now, isOver: () => performance.now() > untilMs };
      const own = [...wanted.values()].filter((each) => each.imei === imei).map(({ geofence }) => geofence);
      await syncTerminal(
        terminal,
        own,
        [...known.values()].filter((each) => each.imei === imei),
      );
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
}

interface Terminal {
  readonly imei: string;
  readonly edition: Edition;
  readonly deps: SyncDeps;
  readonly now: Date;
  readonly isOver: () => boolean;
}

async function syncTerminal(
  terminal: Terminal,
  wanted: readonly Geofence[],
  known: readonly SentArea[],
): Promise<void> {
  const wantedIds = new Set(wanted.map(({ _id }) => _id));
  for (const area of known)
    if (!wantedIds.has(area.geofenceId) && isDue(area, terminal.now) && !terminal.isOver())
      await deleteArea(terminal, area);
  for (const geofence of wanted) {
    if (terminal.isOver()) return;
    await sendArea(
      terminal,
      geofence,
      known.find(({ geofenceId }) => geofenceId === geofence._id),
    );
  }
}

/** Returns true if a removal is due. A removal that was tried before has an empty digest and waits for its retry. */
const isDue = ({ digest, retryAt }: SentArea, now: Date): boolean => digest !== '' || retryAt <= now;

async function deleteArea(terminal: Terminal, area: SentArea): Promise<void> {
  const { deps, edition, now } = terminal;
  const attempts = area.digest === '' ? area.attempts + 1 : 1;
  const state =
    area.kind === null
      ? 'synced'
      : await sendMessage(terminal, encodeAreaDeletion(area.kind, area.geofenceId, edition));
  if (state === 'synced' || state === 'unsupported' || attempts > maxDeleteAttempts)
    return deleteSentArea(terminal, area);
  const retryAt = new Date(now.getTime() + retryDelayMs);
  await sentAreaCollection(deps.database).updateOne({ _id: area._id }, { $set: { attempts, retryAt, digest: '' } });
}

/** Deletes the state of an area. The geofence may still exist and apply to the terminal again later. */
async function deleteSentArea({ deps, imei }: Terminal, { _id, accountId, geofenceId }: SentArea): Promise<void> {
  const update = { $unset: { [`terminalSync.${imei}`]: '' } } as object;
  await deps.database.collection<Geofence>('geofences').updateOne({ _id: geofenceId, accountId }, update);
  await sentAreaCollection(deps.database).deleteOne({ _id });
}

async function sendArea(terminal: Terminal, geofence: Geofence, known: SentArea | undefined): Promise<void> {
  const { imei, edition, deps, now } = terminal;
  const area = encodeArea(geofence, edition);
  const digest = area === null ? 'none' : createHash('sha256').update(JSON.stringify(area)).digest('base64url');
  const isSame = known?.digest === digest;
  if (isSame && (known.state === 'synced' || known.state === 'unsupported' || known.retryAt > now))
    return geofence.terminalSync[imei] === known.state ? undefined : saveSyncState(terminal, geofence, known.state);
  const previousKind = known?.kind ?? null;
  const fields = { accountId: geofence.accountId, geofenceId: geofence._id, imei, digest };
  const saveSentArea = async (state: SyncState, kind: AreaKind | null, attempts: number): Promise<void> => {
    const retryAt = new Date(now.getTime() + Math.min(retryDelayMs * 2 ** Math.max(0, attempts - 1), maxRetryDelayMs));
    const $set = { ...fields, kind, state, attempts, retryAt: state === 'pending' ? now : retryAt };
    await sentAreaCollection(deps.database).updateOne({ _id: `${imei}:${geofence._id}` }, { $set }, { upsert: true });
    await saveSyncState(terminal, geofence, state);
  };
  if (
    previousKind !== null &&
    (await sendMessage(terminal, encodeAreaDeletion(previousKind, geofence._id, edition))) === 'pending'
  )
    return;
  if (area === null) return saveSentArea('unsupported', null, 0);
  const attempts = (isSame ? known.attempts : 0) + 1;
  // Recorded before sending: the terminal may have the area even if this process dies.
  await saveSentArea('pending', area.kind, attempts);
  const state = await sendMessage(terminal, area.encodeMessage);
  await saveSentArea(state, area.kind, attempts);
}

/**
 * Sets the state in the geofence, which does not count as a change by a user. Writes only while the geofence still has
 * the version that was sent.
 */
async function saveSyncState({ imei, deps }: Terminal, geofence: Geofence, state: SyncState): Promise<void> {
  const { _id, accountId, version } = geofence;
  const filter = { _id, accountId, version };
  const update = { $set: { [`terminalSync.${imei}`]: state } } as object;
  await deps.database.collection<Geofence>('geofences').updateOne(filter, update);
}

const success = 0;
const notSupported = 3;

/** Sends one message and returns the resulting state; `pending` if it was not sent. */
async function sendMessage({ imei, deps }: Terminal, command: AreaMessage): Promise<SyncState> {
  const outcome = await deps.commandClient.send({
    imei,
    command: { kind: 'raw', ...command },
    correlationId: `geofence-${imei}`,
    timeoutMs: responseTimeoutMs,
    isClaimed: async (claimed) => (await readDevice(deps.redis, claimed)) !== null,
  });
  switch (outcome.kind) {
    case 'answered':
      if (outcome.answer.result === success) return 'synced';
      return outcome.answer.result === notSupported ? 'unsupported' : 'failed';
    case 'notConnected':
    case 'busy':
    case 'brokerAway':
      return 'pending';
    default:
      deps.log.info({ imei, messageId: command.messageId, outcome: outcome.kind }, 'a terminal did not accept an area');
      return 'failed';
  }
}
