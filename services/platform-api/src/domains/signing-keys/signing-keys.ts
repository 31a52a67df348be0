import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { Encryption, Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { exportJWK, importJWK, type JWK } from 'jose';
import { insertSigningKey, newestKeys, type SigningKey } from './store.ts';

type PublicKey = Awaited<ReturnType<typeof importJWK>>;

interface Signing {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

interface Loaded {
  readonly signing: Signing | null;
  readonly verifying: ReadonlyMap<string, PublicKey>;
  readonly jwks: readonly JWK[];
  readonly newest: SigningKey | null;
}

/** Other replicas sign with a new key at the latest after this time; they take its tokens at once, as an unknown `kid` makes them look. */
const keepMs = 60_000;
/** Tokens with made-up key ids cause no more looks than this. */
const reloadEveryMs = 1_000;
const dayMs = 24 * 3600 * 1000;

const purposeOf = (kid: string): string => `signing key ${kid}`;

/** The Ed25519 keys behind access tokens: two are valid at a time, so that a rotation signs nobody out. */
export class SigningKeys {
  readonly #deps: { readonly database: Database; readonly encryption: Encryption; readonly log: Logger };
  #loaded: Promise<Loaded> | undefined;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #making: Promise<Signing> | undefined;

  constructor(deps: { database: Database; encryption: Encryption; log: Logger }) {
    this.#deps = deps;
  }

  /** The key that signs; the first one is made here, as is one instead of a key that ENCRYPTION_KEY no longer opens. */
  async signingKey(): Promise<Signing> {
    const { signing } = await this.#load(keepMs);
    if (signing !== null) return signing;
    // Many log in at the same time: two keys more, and what was signed with the first would be worth nothing.
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** The public key of a token, or null when there is none of this id. */
  async verifyingKey(kid: string): Promise<PublicKey | null> {
    const known = (await this.#load(keepMs)).verifying.get(kid);
    return known ?? (await this.#load(reloadEveryMs)).verifying.get(kid) ?? null;
  }

  /** The public keys as `/.well-known/jwks.json` shows them. */
  async jwks(): Promise<readonly JWK[]> {
    await this.signingKey();
    return (await this.#load(keepMs)).jwks;
  }

  /** Makes the next key; where replicas do so at the same time, one of them does it for all. */
  async rotate(): Promise<void> {
    await this.#makeAfter((await this.#load(0)).newest);
  }

  /** The key that signs, where there was none a moment ago. */
  async #make(): Promise<Signing> {
    const { signing, newest } = await this.#load(0);
    if (signing !== null) return signing;
    await this.#makeAfter(newest);
    const made = (await this.#load(0)).signing;
    if (made === null) throw new Error('the key that signs access tokens cannot be opened with ENCRYPTION_KEY');
    return made;
  }

  async #makeAfter(newest: SigningKey | null): Promise<void> {
    const kid = randomBytes(8).toString('hex');
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await insertSigningKey(this.#deps.database, {
      _id: (newest?._id ?? 0) + 1,
      kid,
      publicJwk: { ...(await exportJWK(publicKey)), kid, alg: 'EdDSA', use: 'sig' },
      sealedPrivateKey: this.#deps.encryption.seal(pem, purposeOf(kid)),
      createdAt: new Date(),
    });
    this.#loaded = undefined;
  }

  /** Rotates when the newest key is older than so many days; true when it did. */
  async rotateWhenDue(days: number, now = new Date()): Promise<boolean> {
    const { newest } = await this.#load(0);
    if (newest !== null && now.getTime() - newest.createdAt.getTime() < days * dayMs) return false;
    await this.#makeAfter(newest);
    return true;
  }

  #load(maxAgeMs: number): Promise<Loaded> {
    if (this.#loaded !== undefined && performance.now() - this.#loadedAtMs < maxAgeMs) return this.#loaded;
    const loading = this.#read();
    this.#loaded = loading;
    this.#loadedAtMs = performance.now();
    loading.catch(() => {
      // That the database was away is not remembered.
      if (this.#loaded === loading) this.#loaded = undefined;
    });
    return loading;
  }

  async #read(): Promise<Loaded> {
    const keys = await newestKeys(this.#deps.database);
    const entries = await Promise.all(
      keys.map(async ({ kid, publicJwk }) => [kid, await importJWK(publicJwk, 'EdDSA')] as const),
    );
    return {
      signing: keys[0] === undefined ? null : this.#open(keys[0]),
      verifying: new Map(entries),
      jwks: keys.map(({ publicJwk }) => publicJwk),
      newest: keys[0] ?? null,
    };
  }

  #open({ kid, sealedPrivateKey }: SigningKey): Signing | null {
    try {
      return { kid, privateKey: createPrivateKey(this.#deps.encryption.open(sealedPrivateKey, purposeOf(kid))) };
    } catch (error) {
      this.#deps.log.warn({ err: error, kid }, 'the key that signs access tokens cannot be opened: a new one is made');
      return null;
    }
  }
}
