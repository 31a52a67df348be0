import { createHash, randomBytes } from 'node:crypto';

const codeCount = 10;
const groupLength = 5;
/** Base32 without letters that look like digits. */
const alphabet = 'abcdefghjkmnpqrstuvwxyz234567892';

/** Form of a recovery code, with or without the hyphen. */
export const recoveryCodePattern = '[a-zA-Z2-9]{5}-?[a-zA-Z2-9]{5}';

const isRecoveryCode = new RegExp(`^${recoveryCodePattern}$`);

/** Returns ten codes of 50 random bits, such as `abcde-fghjk`. Each replaces a code of the authenticator app once. */
export const generateRecoveryCodes = (): string[] =>
  Array.from({ length: codeCount }, () => {
    const letters = [...randomBytes(2 * groupLength)].map((byte) => alphabet[byte % alphabet.length]).join('');
    return `${letters.slice(0, groupLength)}-${letters.slice(groupLength)}`;
  });

/** Returns the stored form of a code. The codes are random enough for a plain hash. */
export const hashRecoveryCode = (userId: number, code: string): string =>
  createHash('sha256')
    .update(`${userId}:${code.toLowerCase().replaceAll('-', '')}`)
    .digest('hex');

/** Returns the stored form of a code as the user typed it; null if it is no recovery code. */
export const readRecoveryCode = (userId: number, code: string): string | null =>
  isRecoveryCode.test(code.trim()) ? hashRecoveryCode(userId, code.trim()) : null;
