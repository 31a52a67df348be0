import type { Encryption } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { type SealedRecord, sealedFields } from './sealed-fields.ts';

interface ReencryptionResult {
  /** Values that were encrypted again with the first key of ENCRYPTION_KEY. */
  reencryptedCount: number;
  /** Values that no key of ENCRYPTION_KEY decrypts. They stay as they are. */
  readonly unreadable: string[];
}

type SealedField = (typeof sealedFields)[number];

/** Encrypts stored secrets again with the first key of ENCRYPTION_KEY. Idempotent, and safe while services run. */
export async function reencrypt(database: Database, encryption: Encryption): Promise<ReencryptionResult> {
  const result: ReencryptionResult = { reencryptedCount: 0, unreadable: [] };
  for (const sealedField of sealedFields) await reencryptField(database, encryption, sealedField, result);
  return result;
}

async function reencryptField(
  database: Database,
  encryption: Encryption,
  { collection, field, purpose }: SealedField,
  result: ReencryptionResult,
): Promise<void> {
  const records = database.collection<SealedRecord>(collection);
  const filter = { [field]: { $exists: true, $ne: null } };
  const projection = { [field]: 1, accountId: 1, userId: 1, kid: 1 };
  for await (const record of records.find(filter, { projection, promoteBuffers: true })) {
    const sealed = readField(record, field);
    if (sealed === undefined || encryption.isCurrent(sealed)) continue;
    const next = reseal(encryption, sealed, purpose(record));
    if (next === undefined) {
      result.unreadable.push(`${collection} ${record._id}`);
      continue;
    }
    // A value that has changed since was encrypted with the first key.
    const { modifiedCount } = await records.updateOne(
      { _id: record._id, [field]: sealed },
      { $set: { [field]: next } },
    );
    result.reencryptedCount += modifiedCount;
  }
}

function readField(record: object, field: string): string | Buffer | undefined {
  let value: unknown = record;
  for (const name of field.split('.')) value = (value as Readonly<Record<string, unknown>> | null | undefined)?.[name];
  return typeof value === 'string' || Buffer.isBuffer(value) ? value : undefined;
}

function reseal(encryption: Encryption, sealed: string | Buffer, purpose: string): string | Buffer | undefined {
  try {
    return typeof sealed === 'string'
      ? encryption.seal(encryption.open(sealed, purpose), purpose)
      : encryption.sealBytes(encryption.openBytes(sealed, purpose), purpose);
  } catch {
    // The key is missing or the value is damaged: the caller reports it.
    return undefined;
  }
}
