// The writer of one account of `lists.mjs`: ids, numbers and times of its copies.
export const dayMs = 86_400_000;
const batchSize = 1_000;
/** Ids of the copies, far above the ids that the API assigns. */
export const firstId = 1_000_000;

/** Inserts documents in batches; `create` returns the document for an index. */
export async function insertAll(collection, count, create) {
  for (let from = 0; from < count; from += batchSize) {
    const length = Math.min(batchSize, count - from);
    await collection.insertMany(
      Array.from({ length }, (_none, at) => create(from + at)),
      { ordered: false },
    );
  }
}

/** Returns what the functions that fill an account share; the ids of its records start at `offset`. */
export function createAccountWriter(db, account) {
  const { accountId, offset, templates, nowMs } = account;
  const first = firstId + offset;
  const copy = (name, index, more) => ({ ...templates[name], _id: first + index, accountId, ...more });
  return {
    ...account,
    db,
    first,
    imeiOf: (at) => String(100_000_000_000 + offset + at).padStart(12, '0'),
    /** Returns the time at a share of the days before now. */
    at: (days, share) => new Date(nowMs - Math.round(days * dayMs * share)),
    /** Inserts copies of a template; `more` returns the fields of an index that differ. */
    insert: (name, count, more) =>
      insertAll(db.collection(name), count, (index) => copy(name, index, more(index, index / count))),
  };
}
