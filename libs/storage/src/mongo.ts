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

export type { Collection } from 'mongodb';

/** A connected MongoDB database and its `close`. */
export interface Database {
  readonly db: Db;
  collection<T extends Document>(name: string): Collection<T>;
  /** Returns true if the server replies within the given time. */
  ping(timeoutMs?: number): Promise<boolean>;
  close(): Promise<void>;
}

const reconnectDelayMs = 250;

/**
 * Opens the database named by the path of a MongoDB URL. Does not wait for the server, so that a service starts before
 * its database. Without a server, calls fail after five seconds at most; they work again once it is available. Whether
 * writes are retried, the URL states (`retryWrites`, by default true); the driver retries none on a single server.
 */
export function openDatabase(url: string, options: { appName: string }): Database {
  const client = new MongoClient(url, {
    appName: options.appName,
    serverSelectionTimeoutMS: 5_000,
    connectTimeoutMS: 5_000,
    socketTimeoutMS: 20_000,
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

// The driver reconnects by itself only after a first success. A failed first attempt closes it ("Topology is closed")
// until it is connected again.
function connectWithRetry(client: MongoClient): () => Promise<void> {
  const stopSignal = new AbortController();
  const connect = async (): Promise<void> => {
    while (!stopSignal.signal.aborted) {
      try {
        await client.connect();
        return;
      } catch {
        // Callers of the database receive the error; here only the next attempt matters.
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
    // The driver's own time-out does not cover the wait for a first connection.
    const timeout = setTimeout(timeoutMs, false, { signal: timeoutController.signal });
    return await Promise.race([db.command({ ping: 1 }, { timeoutMS: timeoutMs }).then(() => true), timeout]);
  } catch {
    // Unreachable is a result, not an error of the check.
    return false;
  } finally {
    timeoutController.abort();
  }
}

/** Limits one command: a server runs one write command per collection at a time, and others wait for it. */
const bulkBatchSize = 500;

/**
 * Writes many operations in no particular order, in commands of a size that every server accepts. Writes before a
 * failure remain.
 */
export async function writeInBulk<T extends Document>(
  collection: Collection<T>,
  operations: readonly AnyBulkWriteOperation<T>[],
): Promise<void> {
  for (let offset = 0; offset < operations.length; offset += bulkBatchSize)
    await collection.bulkWrite(operations.slice(offset, offset + bulkBatchSize), { ordered: false });
}

/** Returns true for the rejection of a duplicate `_id` or another unique value. */
export const isDuplicateKey = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11_000;

/** NamespaceNotFound and IndexNotFound. */
const missingIndexCodes: ReadonlySet<unknown> = new Set([26, 27]);

/** Returns the names of a collection's indexes; empty for a missing collection. */
export async function indexNames<T extends Document>(collection: Collection<T>): Promise<string[]> {
  try {
    return (await collection.indexes()).flatMap(({ name }) => name ?? []);
  } catch (error) {
    if (error instanceof MongoServerError && missingIndexCodes.has(error.code)) return [];
    throw error;
  }
}

/** Drops an index of a previous release by its name. */
export async function dropIndexIfExists<T extends Document>(collection: Collection<T>, name: string): Promise<void> {
  try {
    await collection.dropIndex(name);
  } catch (error) {
    if (!(error instanceof MongoServerError) || !missingIndexCodes.has(error.code)) throw error;
  }
}

/** Error codes of servers that shut down or have no primary. */
const unavailableCodes: ReadonlySet<unknown> = new Set([91, 189, 10_107, 11_600, 11_602, 13_435, 13_436]);

/**
 * Returns true if the server was unreachable, the connection broke, or the server has no primary; false for a rejected
 * command. The driver calls a connection that never existed "closed".
 */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  error instanceof MongoServerSelectionError ||
  error instanceof MongoNetworkError ||
  error instanceof MongoTopologyClosedError ||
  (error instanceof MongoServerError && unavailableCodes.has(error.code));

/** BSONObjectTooLarge, for documents and for updates. */
const tooLargeCodes = new Set([10_334, 17_419]);

/**
 * Returns the `_id`s of documents that a bulk write would have made larger than the database allows; empty for other
 * failures.
 */
export function findTooLargeIds(error: unknown): unknown[] {
  if (!(error instanceof MongoBulkWriteError)) return [];
  const writeErrors = Array.isArray(error.writeErrors) ? error.writeErrors : [error.writeErrors];
  if (!writeErrors.every(({ code }) => tooLargeCodes.has(code))) return [];
  return writeErrors.map((writeError) => (writeError.getOperation() as { q?: { _id?: unknown } }).q?._id);
}
