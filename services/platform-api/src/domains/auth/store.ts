import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** The number of failed log-ins with an identifier; `_id` is its SHA-256. */
interface FailureCount {
  readonly _id: string;
  readonly count: number;
  readonly expiresAt: Date;
}

/** A one-time code that was sent; `_id` is the phone number. */
interface SentCode {
  readonly _id: string;
  /** Sealed for the purpose `one-time code to <phone number>`. */
  readonly sealedCode: string;
  readonly triesLeft: number;
  readonly expiresAt: Date;
}

/** A token to set a new password; `_id` is the token's SHA-256. */
interface ResetToken {
  readonly _id: string;
  readonly accountId: number;
  readonly userId: number;
  readonly expiresAt: Date;
}

export const failureCollection = (database: Database): Collection<FailureCount> =>
  database.collection('log_in_failures');
export const oneTimeCodeCollection = (database: Database): Collection<SentCode> =>
  database.collection('one_time_codes');
export const resetTokenCollection = (database: Database): Collection<ResetToken> => database.collection('reset_tokens');

/** Counts an attempt. Returns the number of attempts and when they expire. */
export async function countAttempt(
  database: Database,
  id: string,
  lockMs: number,
  limit: number,
  now: Date,
): Promise<{ count: number; expiresAt: Date }> {
  const failures = failureCollection(database);
  for (;;) {
    await failures.deleteOne({ _id: id, expiresAt: { $lte: now } });
    const existing = await failures.findOne({ _id: id });
    // Attempts during a lock do not extend it.
    if (existing !== null && existing.count >= limit)
      return { count: existing.count + 1, expiresAt: existing.expiresAt };
    try {
      const counted = await failures.findOneAndUpdate(
        { _id: id },
        { $inc: { count: 1 }, $set: { expiresAt: new Date(now.getTime() + lockMs) } },
        { upsert: true, returnDocument: 'after' },
      );
      if (counted !== null) return counted;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

/** Uncounts an attempt that was not a failure. */
export async function revertAttempt(database: Database, id: string): Promise<void> {
  await failureCollection(database).updateOne({ _id: id, count: { $gt: 0 } }, { $inc: { count: -1 } });
}

export async function deleteAttempts(database: Database, id: string): Promise<void> {
  await failureCollection(database).deleteOne({ _id: id });
}

/** Stores a code and replaces earlier codes of the number. */
export async function saveCode(database: Database, { _id, ...code }: SentCode): Promise<void> {
  await oneTimeCodeCollection(database).replaceOne({ _id }, code, { upsert: true });
}

/** Consumes one attempt of a code; returns null if there is no code or no attempt left. */
export const consumeAttempt = (database: Database, phoneNumber: string, now: Date): Promise<SentCode | null> =>
  oneTimeCodeCollection(database).findOneAndUpdate(
    { _id: phoneNumber, triesLeft: { $gt: 0 }, expiresAt: { $gt: now } },
    { $inc: { triesLeft: -1 } },
    { returnDocument: 'after' },
  );

/** Consumes a code; returns false if another request has consumed it. */
export async function consumeCode(database: Database, { _id, sealedCode }: SentCode): Promise<boolean> {
  return (await oneTimeCodeCollection(database).deleteOne({ _id, sealedCode })).deletedCount === 1;
}

export async function insertResetToken(database: Database, token: ResetToken): Promise<void> {
  await resetTokenCollection(database).insertOne(token);
}

/** Returns a token; null if it does not exist or has expired. */
export const findResetToken = (database: Database, id: string, now: Date): Promise<ResetToken | null> =>
  resetTokenCollection(database).findOne({ _id: id, expiresAt: { $gt: now } });

/** Consumes and returns a token; returns null if it does not exist or has expired. */
export const consumeResetToken = (database: Database, id: string, now: Date): Promise<ResetToken | null> =>
  resetTokenCollection(database).findOneAndDelete({ _id: id, expiresAt: { $gt: now } });

/** Removes all tokens of a user. */
export async function removeResetTokens(database: Database, userId: number): Promise<void> {
  await resetTokenCollection(database).deleteMany({ userId });
}
