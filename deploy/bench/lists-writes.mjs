// Measures writes of the database alone, and reads during writes.
const writers = 20;
const bulkSize = 100;
const durationMs = 5_000;
const documents = 10_000;

const documentOf = (id) => ({
  _id: id,
  accountId: id % 10,
  name: `Document ${id}`,
  value: 0,
  text: 'x'.repeat(200),
  createdAt: new Date(),
});

/** Runs `work` in several loops for some seconds; returns the rate per second. */
async function perSecond(loops, work) {
  const startedMs = performance.now();
  let count = 0;
  await Promise.all(
    Array.from({ length: loops }, async () => {
      while (performance.now() - startedMs < durationMs) {
        // Two statements: `count += await work()` reads the count before it waits, and loses the increments of the
        // other loops.
        const done = await work();
        count += done;
      }
    }),
  );
  return (count / (performance.now() - startedMs)) * 1_000;
}

const quantile = (times, part) => times.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(times.length * part) - 1)];

/** Measures a collection with two indexes in addition to `_id`; returns the rows of a table. */
export async function measureWrites(db) {
  const collection = db.collection('benchmark_writes');
  await collection.createIndex({ accountId: 1, _id: -1 });
  await collection.createIndex({ accountId: 1, createdAt: -1 });
  for (let from = 0; from < documents; from += 1_000)
    await collection.insertMany(Array.from({ length: 1_000 }, (_none, at) => documentOf(from + at)));
  let nextId = documents;
  const randomId = () => Math.floor(Math.random() * documents);
  const update = async () => {
    await collection.updateOne({ _id: randomId() }, { $inc: { value: 1 } });
    return 1;
  };
  const insert = async () => {
    await collection.insertOne(documentOf(nextId++));
    return 1;
  };
  const bulk = async () => {
    const operations = Array.from({ length: bulkSize }, () => ({
      updateOne: { filter: { _id: randomId() }, update: { $inc: { value: 1 } } },
    }));
    await collection.bulkWrite(operations, { ordered: false });
    return bulkSize;
  };
  const bulkInsert = async () => {
    await collection.insertMany(
      Array.from({ length: bulkSize }, () => documentOf(nextId++)),
      { ordered: false },
    );
    return bulkSize;
  };
  const rows = [];
  const add = (name, value) => rows.push(`| ${name} | ${value} |`);
  const rate = (value) => `${Math.round(value).toLocaleString('en')} a second`;
  add(`single updates from ${writers} writers`, rate(await perSecond(writers, update)));
  add(`single inserts from ${writers} writers`, rate(await perSecond(writers, insert)));
  add(`bulk inserts of ${bulkSize} documents, one writer`, rate(await perSecond(1, bulkInsert)));
  const times = [];
  const read = async () => {
    const startedMs = performance.now();
    await collection.findOne({ _id: randomId() });
    times.push(performance.now() - startedMs);
    return 1;
  };
  const [bulkRate] = await Promise.all([perSecond(1, bulk), perSecond(1, read)]);
  add(`bulk updates of ${bulkSize} documents, one writer, beside one reader`, rate(bulkRate));
  add('reads by `_id` during the updates, p50', `${quantile(times, 0.5).toFixed(1)} ms`);
  add('reads by `_id` during the updates, p95', `${quantile(times, 0.95).toFixed(1)} ms`);
  await collection.drop();
  return rows;
}
