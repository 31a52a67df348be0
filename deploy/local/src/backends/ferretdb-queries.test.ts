import { propertyRuns, propertySeed, ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Collection,
  type CountDocumentsOptions,
  type Document,
  Double,
  type FindOptions,
  Int32,
  Long,
  MongoClient,
  ObjectId,
} from 'mongodb';

const testTimeoutMs = 120_000;
const plain = { hint: { $natural: 1 } } as const;
const fields = ['a', 'b', 'c.x', 'd', '_id'] as const;
const indexes = [
  { a: 1, b: -1, _id: 1 },
  { b: 1, a: 1 },
  { 'c.x': -1, a: 1 },
  { d: 1, _id: -1 },
  { a: -1, _id: -1 },
  { b: -1, d: 1, a: 1 },
] as const;

let server: ServerProcess;
let client: MongoClient;
let databases = 0;

beforeAll(async () => {
  server = await (await ServerProcess.mongo()).start();
  client = await new MongoClient(`mongodb://127.0.0.1:${server.port}/`, { promoteValues: false }).connect();
}, testTimeoutMs);
afterAll(async () => {
  await client.close();
  await server.remove();
});

/** Values that are equal across types, and their neighbours. */
const small = fc.integer({ min: 0, max: 2 });
const rare = fc.oneof(
  fc.constantFrom(-2.5, -0, 0, 1, 1.5, 1e300, -1e300, 2 ** 53, -(2 ** 63)).map((n) => new Double(n)),
  fc
    .constantFrom('9007199254740992', '9007199254740993', '9223372036854775807', '-9223372036854775808')
    .map((text) => Long.fromString(text)),
  fc.constantFrom('', 'a', 'A', 'ab', 'b', 'a\u0000', 'a\u0000b', 'ü', '1'),
  fc.constantFrom(0, 1, -1, 86_400_000).map((ms) => new Date(ms)),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom('0'.repeat(24), 'f'.repeat(24)).map((hex) => new ObjectId(hex)),
);
/** Few different numbers, so that conditions match and sorts have ties. */
const scalar = fc.oneof(
  { weight: 4, arbitrary: small.map((n) => new Int32(n)) },
  { weight: 2, arbitrary: small.map((n) => Long.fromNumber(n)) },
  { weight: 1, arbitrary: small.map((n) => new Double(n)) },
  { weight: 2, arbitrary: rare },
);
const nested = fc.record({ x: scalar, y: scalar }, { requiredKeys: [] });
const value = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: fc.array(fc.oneof(nested, scalar), { maxLength: 3 }) },
);
const content = fc.record({ a: value, b: value, c: value, d: value }, { requiredKeys: [] });
const simpleContent = fc.record({ a: scalar, b: scalar, c: nested, d: scalar }, { requiredKeys: [] });
const documents = fc.oneof(
  fc.array(content, { minLength: 5, maxLength: 25 }),
  fc.array(simpleContent, { minLength: 20, maxLength: 60 }),
);

const operators = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte');
const comparison = fc.oneof(
  { weight: 3, arbitrary: scalar },
  { weight: 6, arbitrary: fc.tuple(operators, scalar).map(([name, operand]) => ({ [name]: operand })) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('$gt', '$gte'), scalar, fc.constantFrom('$lt', '$lte'), scalar)
      .map(([low, a, high, b]) => ({ [low]: a, [high]: b })),
  },
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom('$in', '$in', '$nin'), fc.array(scalar, { maxLength: 4 }))
      .map(([name, list]) => ({ [name]: list })),
  },
  { weight: 1, arbitrary: fc.boolean().map((expected) => ({ $exists: expected })) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 2 }).map((size) => ({ $size: size })) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('^a', 'A', 'b$'), fc.constantFrom('', 'i'))
      .map(([$regex, $options]) => ({ $regex, $options })),
  },
  { weight: 1, arbitrary: nested },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) },
);
const negated = fc.oneof(
  { weight: 12, arbitrary: comparison },
  fc.tuple(fc.constantFrom('$gt', '$lte', '$eq'), scalar).map(([name, operand]) => ({ $not: { [name]: operand } })),
  fc.integer({ min: 0, max: 2 }).map((size) => ({ $not: { $size: size } })),
);
const condition = fc
  .tuple(fc.constantFrom(...fields, 'c', 'c.y', 'c.0'), negated)
  .map(([field, one]) => ({ [field]: one }));
const conditions = fc
  .oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 4, arbitrary: fc.tuple(condition) },
    { weight: 2, arbitrary: fc.tuple(condition, condition) },
    { weight: 1, arbitrary: fc.tuple(condition, condition, condition) },
  )
  .map((list) => Object.assign({}, ...list) as Document);
const filter = fc.oneof(
  { weight: 4, arbitrary: conditions },
  {
    weight: 1,
    arbitrary: fc
      .tuple(conditions, fc.constantFrom('$or', '$nor', '$and'), fc.array(conditions, { minLength: 1, maxLength: 3 }))
      .map(([own, name, branches]) => ({ ...own, [name]: branches })),
  },
);
/** Sort fields: any, or consecutive fields of an index. */
const orderFields = fc.oneof(
  fc.uniqueArray(fc.constantFrom('a', 'b', 'c.x', 'd'), { maxLength: 3 }),
  fc
    .tuple(fc.constantFrom(...indexes), fc.constantFrom(0, 1), fc.integer({ min: 1, max: 3 }))
    .map(([keys, start, length]) => Object.keys(keys).slice(start, start + length)),
);
const order = fc
  .tuple(orderFields, fc.array(fc.constantFrom(1 as const, -1 as const), { minLength: 4, maxLength: 4 }))
  .map(([names, directions]) =>
    Object.fromEntries([...new Set([...names, '_id'])].map((name, i) => [name, directions[i] ?? 1] as const)),
  );
const query = fc.record({
  filter,
  sort: fc.option(order, { nil: undefined }),
  skip: fc.constantFrom(0, 0, 1, 5),
  limit: fc.constantFrom(0, 0, 1, 4, 10),
  batchSize: fc.integer({ min: 1, max: 8 }),
  projection: fc.option(
    fc.record({
      isIncluded: fc.boolean(),
      withId: fc.boolean(),
      names: fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }),
    }),
    { nil: undefined },
  ),
});
const change = fc.record({ filter: conditions, set: content, remove: fc.boolean() });

async function filled(contents: readonly Document[]): Promise<Collection> {
  const collection = client.db(`queries_${++databases}`).collection<{ _id: Int32 }>('documents');
  await collection.createIndexes(indexes.slice(0, 3).map((key) => ({ key })));
  if (contents.length > 0) await collection.insertMany(contents.map((one, _id) => ({ ...one, _id: new Int32(_id) })));
  // The remaining indexes are built from existing documents.
  await collection.createIndexes(indexes.slice(3).map((key) => ({ key })));
  return collection as unknown as Collection;
}

interface Query {
  filter: Document;
  sort: Record<string, 1 | -1> | undefined;
  skip: number;
  limit: number;
  batchSize: number;
  projection: { isIncluded: boolean; withId: boolean; names: string[] } | undefined;
}

/** Returns the fields that a projection leaves: the _id first, then the others in the order of the document. */
function project(document: Document, { isIncluded, withId, names }: NonNullable<Query['projection']>): Document {
  const fields = Object.entries(document).filter(([name]) => name !== '_id' && names.includes(name) === isIncluded);
  return { ...(withId ? { _id: document['_id'] as unknown } : {}), ...Object.fromEntries(fields) };
}

/** The results of one query in several ways, and the result of a plain scan. */
interface Comparison {
  actual: unknown;
  expected: unknown;
}

const byId = (list: Document[]): Document[] => list.toSorted((one, other) => Number(one['_id']) - Number(other['_id']));

/** Runs a query with the planner's choice, with each index, and with its projection. */
async function compare(collection: Collection, query: Query): Promise<Comparison[]> {
  const { filter: where, sort, skip, limit, batchSize, projection } = query;
  const find = async (options: FindOptions): Promise<Document[]> => {
    const cursor = collection.find(where, options);
    // Without a sort, the server may return any order.
    if (sort === undefined) return byId(await cursor.toArray());
    return cursor.sort(sort).skip(skip).limit(limit).toArray();
  };
  const scanned = await find(plain);
  const comparisons: Comparison[] = [{ actual: await find({ batchSize }), expected: scanned }];
  for (const hint of [...indexes, { _id: 1 } as const])
    comparisons.push({ actual: await find({ hint }), expected: scanned });
  if (projection !== undefined && sort !== undefined) {
    const { isIncluded, withId, names } = projection;
    const fields = { ...Object.fromEntries(names.map((name) => [name, isIncluded])), _id: withId };
    const projected = await find({ projection: fields });
    comparisons.push({
      actual: projected.map((one) => Object.entries(one)),
      expected: scanned.map((one) => Object.entries(project(one, projection))),
    });
  }
  return [...comparisons, ...(await compareCounts(collection, query))];
}

async function compareCounts(collection: Collection, { filter: where, skip }: Query): Promise<Comparison[]> {
  const all = await collection.find(where, plain).toArray();
  const expected = Math.max(0, all.length - skip);
  // Number: promoteValues is off.
  const count = async (options: CountDocumentsOptions): Promise<Comparison> => ({
    actual: Number.parseInt(String(await collection.countDocuments(where, { ...options, skip })), 10),
    expected,
  });
  const comparisons = [await count({})];
  for (const hint of indexes) comparisons.push(await count({ hint }));
  return comparisons;
}

async function compareAll(collection: Collection, queries: readonly Query[]): Promise<Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const one of queries) comparisons.push(...(await compare(collection, one)));
  return comparisons;
}

describe('queries with indexes', () => {
  it(
    'return the results of a plain scan for random documents, filters, sorts, limits and counts',
    async () => {
      await fc.assert(
        fc.asyncProperty(
          documents,
          fc.array(query, { minLength: 4, maxLength: 10 }),
          fc.array(change, { maxLength: 4 }),
          async (contents, queries, changes) => {
            const collection = await filled(contents);
            try {
              const before = await compareAll(collection, queries);
              expect(before.map(({ actual }) => actual)).toEqual(before.map(({ expected }) => expected));
              for (const { filter: where, set, remove } of changes) {
                if (remove) await collection.deleteMany(where);
                else if (Object.keys(set).length > 0) await collection.updateMany(where, { $set: set });
              }
              const after = changes.length === 0 ? [] : await compareAll(collection, queries);
              expect(after.map(({ actual }) => actual)).toEqual(after.map(({ expected }) => expected));
            } finally {
              await client.db(collection.dbName).dropDatabase();
            }
          },
        ),
        { seed: propertySeed, numRuns: propertyRuns(60) },
      );
    },
    testTimeoutMs,
  );
});
