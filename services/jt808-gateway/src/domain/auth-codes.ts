import { createHmac, timingSafeEqual } from 'node:crypto';
import { firstSecret, splitSecrets } from '@fleet/service-kit';

/** 128 bits as hex. Codes are short ASCII because some terminals store no more than 60 bytes. */
const macDigits = 32;

/** Result of checking a code. `epoch` is the number of log-outs before the code was issued. */
type CodeCheck = { readonly kind: 'valid'; readonly epoch: number } | { readonly kind: 'wrong' };

/**
 * Derives the authentication codes of terminals (0x8100, 0x0102). Codes are derived, not stored: a terminal gets the
 * same code on each registration, on every pod, until it logs out. The code contains its epoch, so it can be checked
 * while Redis is unavailable. Of several secrets, separated by commas, the first one creates codes and all verify.
 */
export class AuthCodes {
  readonly #secrets: readonly string[];
  readonly #signingSecret: string;

  constructor(secrets: string) {
    this.#secrets = splitSecrets(secrets);
    this.#signingSecret = firstSecret(secrets);
  }

  /** Returns the code of a terminal. `imei` is the canonical number. */
  createCode(imei: string, epoch: number): string {
    return epoch.toString(36) + computeMac(this.#signingSecret, imei, epoch);
  }

  /** Checks a code in constant time. `epoch` is the current one, or null while it is unknown. */
  check(imei: string, code: string, epoch: number | null): CodeCheck {
    const claimedEpoch = Number.parseInt(code.slice(0, -macDigits), 36);
    const receivedMac = Buffer.from(code.slice(-macDigits));
    const isEpochReadable = Number.isSafeInteger(claimedEpoch) && claimedEpoch >= 0;
    const isMacValid = this.#secrets.some((secret) => {
      const expectedMac = Buffer.from(computeMac(secret, imei, isEpochReadable ? claimedEpoch : 0));
      return receivedMac.length === expectedMac.length && timingSafeEqual(receivedMac, expectedMac);
    });
    if (!isEpochReadable || !isMacValid || (epoch !== null && claimedEpoch !== epoch)) return { kind: 'wrong' };
    return { kind: 'valid', epoch: claimedEpoch };
  }
}

const computeMac = (secret: string, imei: string, epoch: number): string =>
  createHmac('sha256', secret).update(`${imei}/${epoch}`).digest('hex').slice(0, macDigits);

/**
 * Returns the codes that a 0x0102 body may contain, likeliest first. The 2019 body is a length, the code, IMEI and
 * version. Some terminals combine a 2019 header with the plain body of 2013, or the reverse.
 */
export function parseCandidateCodes(body: Buffer, is2019: boolean): string[] {
  const plain = decodeText(body);
  const length = body[0] ?? 0;
  const lengthPrefixed = length > 0 && length < body.length ? decodeText(body.subarray(1, 1 + length)) : undefined;
  if (lengthPrefixed === undefined) return [plain];
  return is2019 ? [lengthPrefixed, plain] : [plain, lengthPrefixed];
}

function decodeText(bytes: Buffer): string {
  return bytes.toString('latin1').replace(/^\0+|\0+$/g, '');
}
