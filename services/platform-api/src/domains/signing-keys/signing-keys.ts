import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { dayMs, type Encryption, type Logger } from '@fleet/service-kit';
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

/**
 * Cache TTL, after which other replicas sign with a new key. They accept its tokens immediately, because an unknown
 * `kid` reloads the keys.
 */
const keepMs = 60_000;
/** Minimum interval between reloads, so that tokens with invented key ids cause no more reads than this. */
const reloadEveryMs = 1_000;

/** Purpose of the encrypted private key of access tokens. */
export const signingKeyPurpose = (kid: string): string => `signing key ${kid}`;

/** Manages the Ed25519 keys of access tokens. Two are valid at a time, so that a rotation does not log any user out. */
export class SigningKeys {
  readonly #deps: { readonly database: Database; readonly encryption: Encryption; readonly log: Logger };
  #loaded: Promise<Loaded> | undefined;
  #loadedAtMs = Number.NEGATIVE_INFINITY;
  #making: Promise<Signing> | undefined;

  constructor(deps: { database: Database; encryption: Encryption; log: Logger }) {
    this.#deps = deps;
  }

  /** Returns the signing key. Creates one if there is none, or if ENCRYPTION_KEY no longer opens the current one. */
  async signingKey(): Promise<Signing> {
    const { signing } = await this.#load(keepMs);
    if (signing !== null) return signing;
    // Concurrent log-ins share one creation. Two more keys would invalidate the tokens that were signed with the first.
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  /** Returns the public key with an id, or null if it does not exist. */
  async verifyingKey(kid: string): Promise<PublicKey | null> {
    const known = (await this.#load(keepMs)).verifying.get(kid);
    return known ?? (await this.#load(reloadEveryMs)).verifying.get(kid) ?? null;
  }

  /** Returns the public keys for `/.well-known/jwks.json`. */
  async jwks(): Promise<readonly JWK[]> {
    await this.signingKey();
    return (await this.#load(keepMs)).jwks;
  }

  /** Creates the next key. If several replicas do so concurrently, only one key is created. */
  async rotate(): Promise<void> {
    await this.#makeAfter((await this.#load(0)).newest);
  }

  /** Creates and returns the signing key, unless another replica has created it since. */
  async #make(): Promise<Signing> {
    const { signing, newest } = await this.#load(0);
    if (signing !== null) return signing;
    await this.#makeAfter(newest);
    const made = (await this.#load(0)).signing;
    if (made === null) throw new Error('ENCRYPTION_KEY cannot open the signing key of access tokens');
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
      sealedPrivateKey: this.#deps.encryption.seal(pem, signingKeyPurpose(kid)),
      createdAt: new Date(),
    });
    this.#loaded = undefined;
  }

  /** Rotates if the newest key is older than `days`; returns true if it did. */
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
      // A failed read is not cached.
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
      return {
        kid,
        privateKey: createPrivateKey(this.#deps.encryption.open(sealedPrivateKey, signingKeyPurpose(kid))),
      };
    } catch (error) {
      this.#deps.log.warn({ err: error, kid }, 'could not open the signing key of access tokens; creating a new one');
      return null;
    }
  }
}
