import { setTimeout } from 'node:timers/promises';
import {
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Document,
  MongoBulkWriteError,
  MongoClient,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
} from 'mongodb';

export type { Collection, Db } from 'mongodb';

/** A connected MongoDB database and how to let go of it. */
export interface Database {
  readonly db: Db;
  collection<T extends Document>(name: string): Collection<T>;
  /** True when the server answers within the given time. */
  ping(timeoutMs?: number): Promise<boolean>;
  close(): Promise<void>;
}

const reconnectDelayMs = 250;

/**
 * Opens the database named by the path of a MongoDB URL. Does not wait for the server, so that a service starts while its database is still coming up:
 * calls fail after five seconds at most without a server, and work once it is there, also after a loss.
 */
export function openDatabase(url: string, options: { appName: string }): Database {
  const client = new MongoClient(url, {
    appName: options.appName,
    serverSelectionTimeoutMS: 5_000,
    connectTimeoutMS: 5_000,
    socketTimeoutMS: 20_000,
    retryWrites: false,
  });
  const db = client.db();
  const stopConnecting = connectWithRetry(client);
  return {
    db,
    collection: <T extends Document>(name: string) => db.collection<T>(name),
    ping: (timeoutMs = 2_000) => pingWithTimeout(db, timeoutMs),
    close: async () => {
      const stopped = stopConnecting();
      await client.close();
      await stopped;
    },
  };
}

/** The driver reconnects by itself only after a first success: a first attempt that fails closes it ("Topology is closed") until it is told again. */
function connectWithRetry(client: MongoClient): () => Promise<void> {
  const stopSignal = new AbortController();
  const connect = async (): Promise<void> => {
    while (!stopSignal.signal.aborted) {
      try {
        await client.connect();
        return;
      } catch {
        // Whoever uses the database meanwhile gets the error; here only the next attempt counts.
        await setTimeout(reconnectDelayMs, undefined, { signal: stopSignal.signal }).catch(() => undefined);
      }
    }
  };
  const connecting = connect();
  return () => {
    stopSignal.abort();
    return connecting;
  };
}

async function pingWithTimeout(db: Db, timeoutMs: number): Promise<boolean> {
  const timeoutController = new AbortController();
  try {
    // The driver's own limit does not cover its waiting for a first connection.
    const timeout = setTimeout(timeoutMs, false, { signal: timeoutController.signal });
    return await Promise.race([db.command({ ping: 1 }, { timeoutMS: timeoutMs }).then(() => true), timeout]);
  } catch {
    // Not reachable is the answer, not a fault of the question.
    return false;
  } finally {
    timeoutController.abort();
  }
}

/** Bounds one command: a server writes to a collection by one command at a time, and others wait for it. */
const bulkBatchSize = 500;

/** Writes many things in no particular order, in commands of a size that every server takes. What has been written before a failure stays. */
export async function writeInBulk<T extends Document>(
  collection: Collection<T>,
  operations: readonly AnyBulkWriteOperation<T>[],
): Promise<void> {
  for (let offset = 0; offset < operations.length; offset += bulkBatchSize)
    await collection.bulkWrite(operations.slice(offset, offset + bulkBatchSize), { ordered: false });
}

/** True for the refusal of a second document with an `_id` (or another unique value) that stands already. */
export const isDuplicateKey = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11_000;

/** NamespaceNotFound and IndexNotFound. */
const missingIndexCodes: ReadonlySet<unknown> = new Set([26, 27]);

/** Returns the names of a collection's indexes; none where it does not exist. */
export async function indexNames<T extends Document>(collection: Collection<T>): Promise<string[]> {
  try {
    return (await collection.indexes()).flatMap(({ name }) => name ?? []);
  } catch (error) {
    if (error instanceof MongoServerError && missingIndexCodes.has(error.code)) return [];
    throw error;
  }
}

/** Drops an index of a release before, by its name. */
export async function dropIndexIfExists<T extends Document>(collection: Collection<T>, name: string): Promise<void> {
  try {
    await collection.dropIndex(name);
  } catch (error) {
    if (!(error instanceof MongoServerError) || !missingIndexCodes.has(error.code)) throw error;
  }
}

/** What servers answer that shut down, or of which none is the primary for now. */
const unavailableCodes: ReadonlySet<unknown> = new Set([91, 189, 10_107, 11_600, 11_602, 13_435, 13_436]);

/**
 * True where the server could not be reached, the way to it broke off, or it is not in charge for now: not for what it has refused. The driver calls a way that
 * never was "closed".
 */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  error instanceof MongoServerSelectionError ||
  error instanceof MongoNetworkError ||
  error instanceof MongoTopologyClosedError ||
  (error instanceof MongoServerError && unavailableCodes.has(error.code));

/** BSONObjectTooLarge, as a document would become and as an update is. */
const tooLargeCodes = new Set([10_334, 17_419]);

/** The `_id`s of documents that a bulk write by `_id` would have made larger than the database takes; none where it has failed otherwise. */
export function findTooLargeIds(error: unknown): unknown[] {
  if (!(error instanceof MongoBulkWriteError)) return [];
  const writeErrors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  if (!writeErrors.every(({ code }) => tooLargeCodes.has(code))) return [];
  return writeErrors.map((writeError) => (writeError.getOperation() as { q?: { _id?: unknown } }).q?._id);
}
