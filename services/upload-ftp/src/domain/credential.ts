import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 62 to the power of 24 is more than 128 bits. */
const passwordLength = 24;

/** Generates a password of letters and digits only, which every camera accepts. */
export const generatePassword = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join('');

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Compares in constant time, even if there is no password to compare with. */
export function isPasswordValid(password: string, passwordSha256: string | undefined): boolean {
  const actual = Buffer.from(sha256Hex(password), 'hex');
  const expected = Buffer.from(passwordSha256 ?? '00'.repeat(32), 'hex');
  const isEqual = timingSafeEqual(actual, expected.length === actual.length ? expected : Buffer.alloc(actual.length));
  return isEqual && passwordSha256 !== undefined;
}

const userNamePattern = /^u([0-9a-f]{24})$/i;

/** Returns the upload id in a user name; null for other user names. */
export const parseUploadId = (name: string): string | null => userNamePattern.exec(name)?.[1]?.toLowerCase() ?? null;
