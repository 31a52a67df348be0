import { createHash, randomInt, timingSafeEqual } from 'node:crypto';

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
/** 62 to the power of 24 is more than 128 bits. */
const passwordLength = 24;

/** A password that cameras can take: letters and digits only. */
export const generatePassword = (): string =>
  Array.from({ length: passwordLength }, () => alphabet[randomInt(alphabet.length)]).join('');

export const sha256Hex = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Compares in the same time whatever the password, and also where there is nothing to compare with. */
export function isPasswordValid(password: string, passwordSha256: string | undefined): boolean {
  const actual = Buffer.from(sha256Hex(password), 'hex');
  const expected = Buffer.from(passwordSha256 ?? '00'.repeat(32), 'hex');
  const isEqual = timingSafeEqual(actual, expected.length === actual.length ? expected : Buffer.alloc(actual.length));
  return isEqual && passwordSha256 !== undefined;
}

const userNamePattern = /^u([0-9a-f]{24})$/i;

/** The upload that a user name names; null for any other name. */
export const parseUploadId = (name: string): string | null => userNamePattern.exec(name)?.[1]?.toLowerCase() ?? null;
