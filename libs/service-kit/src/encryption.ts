import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto';

/** What `ENCRYPTION_KEY` is in development; production refuses it. */
export const developmentEncryptionKey = 'development-encryption-key-of-fleet-platform';

interface Key {
  readonly id: string;
  readonly secret: Buffer;
}

const version = 'v1';

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
      .map(keyOf);
    if (first === undefined) throw new Error('ENCRYPTION_KEY holds no key');
    this.#keys = [first, ...others];
  }

  seal(text: string, purpose: string): string {
    const [{ id, secret }] = this.#keys;
    const iv = randomBytes(12);
    const cipher = createCipheriv('aes-256-gcm', secret, iv).setAAD(Buffer.from(purpose));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]);
    return [version, id, iv.toString('base64url'), sealed.toString('base64url')].join('.');
  }

  /** Throws where the key is not there any more, or anything has been changed. */
  open(sealed: string, purpose: string): string {
    const [form, id, iv = '', data = ''] = sealed.split('.');
    if (form !== version) throw new Error(`the sealed ${purpose} has an unknown form`);
    const key = this.#keys.find((each) => each.id === id);
    if (key === undefined) throw new Error(`ENCRYPTION_KEY lacks the key ${id} that sealed the ${purpose}`);
    const bytes = Buffer.from(data, 'base64url');
    const decipher = createDecipheriv('aes-256-gcm', key.secret, Buffer.from(iv, 'base64url'), { authTagLength: 16 })
      .setAAD(Buffer.from(purpose))
      .setAuthTag(bytes.subarray(-16));
    return Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8');
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
}

function keyOf(text: string): Key {
  const secret = Buffer.from(hkdfSync('sha256', text, '', 'fleet encryption at rest', 32));
  return { id: createHash('sha256').update(secret).digest('hex').slice(0, 8), secret };
}
