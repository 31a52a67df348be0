import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';
import { splitSecrets } from './secret-list.ts';

/** Value of `ENCRYPTION_KEY` in development; production rejects it. */
export const developmentEncryptionKey = 'development-encryption-key-of-fleet-platform';

interface Key {
  readonly id: string;
  readonly secret: Buffer;
}

const version = 'v1';
const ivBytes = 12;
/** Version and id of the key, each with a trailing dot. */
const headBytes = 12;

/** Parts of a ciphertext. */
interface Sealed {
  readonly form: string | undefined;
  readonly id: string | undefined;
  readonly iv: Buffer;
  readonly bytes: Buffer;
}

/**
 * Encrypts stored secrets with AES-256-GCM. `ENCRYPTION_KEY` may hold several keys, separated by commas: the first
 * encrypts, all decrypt, so that keys can be rotated. A ciphertext names its key and is bound to its purpose.
 */
export class Encryption {
  readonly #keys: readonly [Key, ...Key[]];

  constructor(encryptionKey: string) {
    const [first, ...others] = splitSecrets(encryptionKey).map(deriveKey);
    if (first === undefined) throw new Error('ENCRYPTION_KEY contains no key');
    this.#keys = [first, ...others];
  }

  seal(text: string, purpose: string): string {
    const { id, iv, sealed } = this.#seal(Buffer.from(text), purpose);
    return [version, id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
  }

  /** Like `seal`, for files: bytes slightly longer than the content. */
  sealBytes(bytes: Buffer, purpose: string): Buffer {
    const { id, iv, sealed } = this.#seal(bytes, purpose);
    return Buffer.concat([Buffer.from(`${version}.${id}.`), iv, sealed]);
  }

  /** Decrypts a text. Throws if the key is missing or anything was changed. */
  open(sealed: string, purpose: string): string {
    const [form, id, iv = '', data = ''] = sealed.split('.');
    const parts = { form, id, iv: Buffer.from(iv, 'base64url'), bytes: Buffer.from(data, 'base64url') };
    return this.#open(parts, purpose).toString('utf8');
  }

  /** Decrypts the result of `sealBytes`; throws like `open`. */
  openBytes(sealed: Buffer, purpose: string): Buffer {
    const [form, id] = sealed.subarray(0, headBytes).toString('latin1').split('.');
    const iv = sealed.subarray(headBytes, headBytes + ivBytes);
    return this.#open({ form, id, iv, bytes: sealed.subarray(headBytes + ivBytes) }, purpose);
  }

  /** Like `open`, but returns null instead of throwing, for secrets that can be created again. */
  tryOpen(sealed: string, purpose: string): string | null {
    try {
      return this.open(sealed, purpose);
    } catch {
      // The reason makes no difference to a caller that creates the secret again.
      return null;
    }
  }

  /** Returns true if a result of `seal` or `sealBytes` is encrypted with the first key. */
  isCurrent(sealed: string | Buffer): boolean {
    const head = typeof sealed === 'string' ? sealed : sealed.subarray(0, headBytes).toString('latin1');
    return head.split('.')[1] === this.#keys[0].id;
  }

  #seal(bytes: Buffer, purpose: string): { id: string; iv: Buffer; sealed: Buffer } {
    const [{ id, secret }] = this.#keys;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', secret, iv).setAAD(Buffer.from(purpose));
    return { id, iv, sealed: Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]) };
  }

  #open({ form, id, iv, bytes }: Sealed, purpose: string): Buffer {
    if (form !== version) throw new Error(`the encrypted ${purpose} has an unknown format`);
    const key = this.#keys.find((each) => each.id === id);
    if (key === undefined) throw new Error(`ENCRYPTION_KEY lacks the key ${id} that encrypted the ${purpose}`);
    const decipher = createDecipheriv('aes-256-gcm', key.secret, iv, { authTagLength: 16 })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]);
  }
}

function deriveKey(text: string): Key {
  const secret = Buffer.from(hkdfSync('sha256', text, '', 'fleet encryption at rest', 32));
  return { id: createHash('sha256').update(secret).digest('hex').slice(0, 8), secret };
}
