// Measures concurrent writes of a MongoDB-compatible server, in a temporary database:
// node deploy/local/measure-writes.mjs mongodb://127.0.0.1:27117/
import { MongoClient } from 'mongodb';

const [url = 'mongodb://127.0.0.1:27117/'] = process.argv.slice(2);
const poolSize = 20;
const documents = 100;
const client = await new MongoClient(url, { maxPoolSize: poolSize }).connect();
const database = client.db(`measure_writes_${process.pid}`);
/** @type {import('mongodb').Collection<{ _id: string, n: number }>} */
const entries = database.collection('entries');
const times = (count, make) => Array.from({ length: count }, (_, index) => make(index));

async function measure(title, total, parallel, operation) {
  let left = total;
  const startedAt = performance.now();
  await Promise.all(
    times(parallel, async () => {
      while (left > 0) {
        left -= 1;
        await operation(left);
      }
    }),
  );
  const seconds = (performance.now() - startedAt) / 1000;
  console.log(`${title}, ${parallel} at a time: ${Math.round(total / seconds)}/s`);
}

try {
  await entries.insertMany(times(documents, (index) => ({ _id: `entry-${index}`, n: 0 })));
  await Promise.all(times(poolSize, () => database.command({ ping: 1 })));
  const increment = { $inc: { n: 1 } };
  const documentsAfter = await Promise.all(
    times(100, () => entries.findOneAndUpdate({ _id: 'entry-0' }, increment, { returnDocument: 'after' })),
  );
  console.log(`different values of 100 increments: ${new Set(documentsAfter.map(({ n }) => n)).size}`);
  const update = (index) => entries.updateOne({ _id: `entry-${index % documents}` }, increment);
  for (const parallel of [1, poolSize]) await measure('updateOne', 1000, parallel, update);
  await measure('insertOne', 1000, poolSize, (index) => entries.insertOne({ _id: `new-${index}`, n: 0 }));
  await measure('findOne', 1000, poolSize, (index) => entries.findOne({ _id: `entry-${index % documents}` }));
} finally {
  await database.dropDatabase();
  await client.close();
}
