import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import type { JWK } from 'jose';

/** A key pair for access tokens. `_id` increases: the newest key signs, and it and the previous one verify. */
export interface SigningKey {
  readonly _id: number;
  /** `kid` of tokens and of the key set. */
  readonly kid: string;
  readonly publicJwk: JWK;
  /** PKCS #8 in PEM, sealed with ENCRYPTION_KEY for the purpose `signing key <kid>`. */
  readonly sealedPrivateKey: string;
  readonly createdAt: Date;
}

const collectionOf = (database: Database): Collection<SigningKey> => database.collection<SigningKey>('signing_keys');

/** Returns the newest keys, at most two. */
export const newestKeys = (database: Database): Promise<SigningKey[]> =>
  collectionOf(database).find().sort({ _id: -1 }).limit(2).toArray();

/** Inserts a key; returns false if another replica has inserted it first. */
export async function insertSigningKey(database: Database, key: SigningKey): Promise<boolean> {
  try {
    await collectionOf(database).insertOne(key);
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
