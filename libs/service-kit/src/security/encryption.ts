import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** What `ENCRYPTION_KEY` is in development; production refuses it. */
export const developmentEncryptionKey = 'development-encryption-key-of-fleet-platform';

interface Key {
  readonly id: string;
  readonly secret: Buffer;
}

const version = 'v1';
const ivBytes = 12;
/** Version and id of the key, with a dot behind each. */
const headBytes = 12;

/** The parts of something sealed. */
interface Sealed {
  readonly form: string | undefined;
  readonly id: string | undefined;
  readonly iv: Buffer;
  readonly bytes: Buffer;
}

/**
 * Seals secrets that are stored: AES-256-GCM. `ENCRYPTION_KEY` may hold several keys, separated by commas: the first seals, all open, so that a key can be
 * replaced. What is sealed names its key and is bound to its purpose: it opens under no other.
 */
export class Encryption {
  readonly #keys: readonly [Key, ...Key[]];

  constructor(encryptionKey: string) {
    const [first, ...others] = encryptionKey
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .map(deriveKey);
    if (first === undefined) throw new Error('ENCRYPTION_KEY holds no key');
    this.#keys = [first, ...others];
  }

  seal(text: string, purpose: string): string {
    const { id, iv, sealed } = this.#seal(Buffer.from(text), purpose);
    return [version, id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
  }

  /** Like `seal`, for files: bytes that are little longer than what is in them. */
  sealBytes(bytes: Buffer, purpose: string): Buffer {
    const { id, iv, sealed } = this.#seal(bytes, purpose);
    return Buffer.concat([Buffer.from(`${version}.${id}.`), iv, sealed]);
  }

  /** Throws where the key is not there any more, or anything has been changed. */
  open(sealed: string, purpose: string): string {
    const [form, id, iv = '', data = ''] = sealed.split('.');
    const parts = { form, id, iv: Buffer.from(iv, 'base64url'), bytes: Buffer.from(data, 'base64url') };
    return this.#open(parts, purpose).toString('utf8');
  }

  /** Opens what `sealBytes` has sealed, and throws as `open` does. */
  openBytes(sealed: Buffer, purpose: string): Buffer {
    const [form, id] = sealed.subarray(0, headBytes).toString('latin1').split('.');
    const iv = sealed.subarray(headBytes, headBytes + ivBytes);
    return this.#open({ form, id, iv, bytes: sealed.subarray(headBytes + ivBytes) }, purpose);
  }

  /** Like `open`; null in the place of throwing, for what can be made anew. */
  tryOpen(sealed: string, purpose: string): string | null {
    try {
      return this.open(sealed, purpose);
    } catch {
      // Why it does not open makes no difference to whoever makes it anew.
      return null;
    }
  }

  #seal(bytes: Buffer, purpose: string): { id: string; iv: Buffer; sealed: Buffer } {
    const [{ id, secret }] = this.#keys;
    const iv = randomBytes(ivBytes);
    const cipher = createCipheriv('aes-256-gcm', secret, iv).setAAD(Buffer.from(purpose));
    return { id, iv, sealed: Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]) };
  }

  #open({ form, id, iv, bytes }: Sealed, purpose: string): Buffer {
    if (form !== version) throw new Error(`the sealed ${purpose} has an unknown form`);
    const key = this.#keys.find((each) => each.id === id);
    if (key === undefined) throw new Error(`ENCRYPTION_KEY lacks the key ${id} that sealed the ${purpose}`);
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
