import { type Collection, type Db, type Document, MongoClient, MongoServerError } from 'mongodb';

export type { Collection, Db } from 'mongodb';

/** A connected MongoDB database and how to let go of it. */
export interface Database {
  readonly db: Db;
  collection<T extends Document>(name: string): Collection<T>;
  /** True when the server answers within the given time. */
  ping(timeoutMs?: number): Promise<boolean>;
  close(): Promise<void>;
}

/**
 * Opens the database named by the path of a MongoDB URL. Does not wait for the server: the driver connects on first use and again after a
 * loss, so that a service starts while its database is still coming up. Calls fail after five seconds without a server.
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
  return {
    db,
    collection: <T extends Document>(name: string) => db.collection<T>(name),
    ping: async (timeoutMs = 2_000) => {
      try {
        await db.command({ ping: 1 }, { timeoutMS: timeoutMs });
        return true;
      } catch {
        // Not reachable is the answer, not a fault of the question.
        return false;
      }
    },
    close: () => client.close(),
  };
}

/** True for the refusal of a second document with an `_id` (or another unique value) that stands already. */
export const isDuplicateKey = (error: unknown): boolean => error instanceof MongoServerError && error.code === 11_000;
