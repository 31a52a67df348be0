import { BSON, type Document, type IndexDescription } from 'mongodb';
import type { Database } from './mongo.ts';

/** Indexes of a collection, in the format of mongodump's `.metadata.json`. */
interface CollectionMetadata {
  readonly collectionName: string;
  readonly type: 'collection';
  readonly options: Document;
  readonly indexes: readonly Document[];
}

/** Documents of one insert command: below the 48 MB that a server accepts, and little memory. */
const batchDocuments = 500;
const batchBytes = 8 * 1024 * 1024;
const lengthBytes = 4;
/** The largest document that a server stores. */
const maxDocumentBytes = 16 * 1024 * 1024 + 16 * 1024;

/** Returns the names of all collections of a database, sorted. */
export async function listCollections({ db }: Database): Promise<string[]> {
  const listed = await db.listCollections({}, { nameOnly: true }).toArray();
  return listed
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('system.'))
    .toSorted((a, b) => (a < b ? -1 : 1));
}

/** Returns true if no collection of a database has a document. */
export async function isDatabaseEmpty(database: Database): Promise<boolean> {
  for (const name of await listCollections(database))
    if ((await database.db.collection(name).findOne({}, { projection: { _id: 1 } })) !== null) return false;
  return true;
}

/** Deletes all collections of a database. */
export async function dropCollections(database: Database): Promise<void> {
  for (const name of await listCollections(database)) await database.db.collection(name).drop();
}

/** Returns the metadata of a collection as canonical extended JSON. */
export async function dumpMetadata({ db }: Database, collectionName: string): Promise<string> {
  const indexes = await db.collection(collectionName).indexes();
  const metadata: CollectionMetadata = { collectionName, type: 'collection', options: {}, indexes };
  return BSON.EJSON.stringify(metadata, { relaxed: false });
}

/** Reads all documents of a collection as BSON, in the order of their ids. */
export function dumpDocuments({ db }: Database, collectionName: string): AsyncIterable<Buffer> {
  // In the order of an index, a document that grows during the dump appears once.
  const cursor = db.collection(collectionName).find({}, { raw: true, sort: { _id: 1 }, batchSize: batchDocuments });
  return cursor as AsyncIterable<unknown> as AsyncIterable<Buffer>;
}

/**
 * Restores a collection from its metadata and the bytes of its documents. Returns the number of documents. Throws for
 * bytes that are not a sequence of BSON documents.
 */
export async function restoreCollection(
  { db }: Database,
  metadataText: string,
  bytes: AsyncIterable<Uint8Array>,
): Promise<number> {
  const { collectionName, indexes } = BSON.EJSON.parse(metadataText) as CollectionMetadata;
  const collection = db.collection(collectionName);
  await db.createCollection(collectionName);
  let count = 0;
  for await (const batch of readBatches(bytes)) {
    await collection.insertMany(batch, { ordered: false });
    count += batch.length;
  }
  // After the documents: one pass over them is faster than one update for each.
  const secondary = indexes.filter(({ name }) => name !== '_id_').map(toIndexDescription);
  if (secondary.length > 0) await collection.createIndexes(secondary);
  return count;
}

/** Returns an index of a dump without the fields that servers of other versions refuse. */
function toIndexDescription({ v: _version, ns: _namespace, ...index }: Document): IndexDescription {
  return index as IndexDescription;
}

async function* readBatches(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Document[]> {
  let batch: Document[] = [];
  let size = 0;
  for await (const document of readDocuments(bytes)) {
    // Numbers keep their BSON types: 1 and 1.0 are different documents.
    batch.push(BSON.deserialize(document, { promoteValues: false, bsonRegExp: true }));
    size += document.length;
    if (batch.length < batchDocuments && size < batchBytes) continue;
    yield batch;
    batch = [];
    size = 0;
  }
  if (batch.length > 0) yield batch;
}

/** Splits bytes into BSON documents, each of which starts with its length. */
async function* readDocuments(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let pending = Buffer.alloc(0);
  for await (const chunk of bytes) {
    pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk]);
    let offset = 0;
    while (pending.length - offset >= lengthBytes) {
      const length = pending.readInt32LE(offset);
      if (length <= lengthBytes || length > maxDocumentBytes)
        throw new Error('The file contains no BSON documents: restore another backup.');
      if (pending.length - offset < length) break;
      yield pending.subarray(offset, offset + length);
      offset += length;
    }
    pending = pending.subarray(offset);
  }
  if (pending.length > 0) throw new Error('The file ends within a BSON document: restore another backup.');
}
