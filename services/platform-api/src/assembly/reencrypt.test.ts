import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Encryption } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { reencrypt } from './reencrypt.ts';
import { type SealedRecord, sealedFields } from './sealed-fields.ts';

const former = 'a former encryption key of 32 characters';
const next = 'the next encryption key of 32 characters';
const formerEncryption = new Encryption(former);
const record = { accountId: 3, userId: 5, kid: 'abc' };

let database: Database;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/reencrypt_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'reencrypt-test' });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const toDocument = (field: string, value: unknown): object =>
  field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object;

async function insertSealed(encryption: Encryption): Promise<void> {
  for (const [index, { collection, field, purpose }] of sealedFields.entries()) {
    const _id = index + 1;
    const text = `secret ${index}`;
    const use = purpose({ _id, ...record });
    const value =
      collection === 'document_files' ? encryption.sealBytes(Buffer.from(text), use) : encryption.seal(text, use);
    await database.collection<SealedRecord>(collection).insertOne({ _id, ...record, ...toDocument(field, value) });
  }
}

/** Decrypts every value with one key. */
async function readSecrets(key: string): Promise<string[]> {
  const encryption = new Encryption(key);
  const found: string[] = [];
  for (const [index, { collection, field, purpose }] of sealedFields.entries()) {
    const _id = index + 1;
    const document = await database.collection<SealedRecord>(collection).findOne({ _id }, { promoteBuffers: true });
    const value = field.split('.').reduce<unknown>((inner, name) => (inner as Record<string, unknown>)[name], document);
    const use = purpose({ _id, ...record });
    found.push(
      Buffer.isBuffer(value) ? encryption.openBytes(value, use).toString() : encryption.open(String(value), use),
    );
  }
  return found;
}

describe('the rotation of ENCRYPTION_KEY', () => {
  it('encrypts every stored secret with the first key, once', async () => {
    await insertSealed(formerEncryption);
    const secrets = await readSecrets(former);
    const both = new Encryption(`${next},${former}`);
    expect(await readSecrets(`${next},${former}`)).toEqual(secrets);
    expect(await reencrypt(database, both)).toEqual({ reencryptedCount: sealedFields.length, unreadable: [] });
    expect(await readSecrets(next)).toEqual(secrets);
    expect(await reencrypt(database, both)).toEqual({ reencryptedCount: 0, unreadable: [] });
  });

  it('reports values that no key decrypts, and leaves them as they are', async () => {
    const lost = new Encryption('a key that was removed too early, of 32').seal('x', 'signing key lost');
    const keys = database.collection<SealedRecord & { sealedPrivateKey: string }>('signing_keys');
    await keys.insertOne({ _id: 99, kid: 'lost', sealedPrivateKey: lost });
    const { unreadable } = await reencrypt(database, new Encryption(next));
    expect(unreadable).toEqual(['signing_keys 99']);
    expect(await keys.findOne({ _id: 99 })).toMatchObject({ sealedPrivateKey: lost });
  });

  it('knows every field whose name says that it is sealed', () => {
    const source = resolve(dirname(fileURLToPath(import.meta.url)), '..');
    const schemas = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
      /(schema|store)\.ts$/.test(name),
    );
    const named = schemas.flatMap((name) =>
      [...readFileSync(join(source, name), 'utf8').matchAll(/readonly (sealed\w*)\??:/g)].map(
        ([, field = '']) => field,
      ),
    );
    // Expires within minutes.
    const shortLived = new Set(['sealedCode']);
    const known = new Set(sealedFields.map(({ field }) => field.split('.').at(-1) ?? ''));
    expect(named.length).toBeGreaterThan(4);
    expect(named.filter((field) => !known.has(field) && !shortLived.has(field))).toEqual([]);
  });
});
