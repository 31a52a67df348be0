import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Time-based one-time passwords: RFC 6238 with SHA-1, 30 seconds, 6 digits, which is what all authenticator apps take. */
const stepSeconds = 30;
const digits = 6;
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** A secret of 160 bits (RFC 4226, section 4), in base32. */
export const generateTotpSecret = (): string => encodeBase32(randomBytes(20));

export function encodeBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

export function decodeBase32(text: string): Buffer {
  const bits = text
    .split('')
    .map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)));
}

/** The code of one step (RFC 4226, section 5.3). */
export function computeTotpCode(secret: string, step: number, length = digits): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', decodeBase32(secret)).update(counter).digest();
  const offset = (mac.at(-1) ?? 0) & 0x0f;
  return String((mac.readUInt32BE(offset) & 0x7fff_ffff) % 10 ** length).padStart(length, '0');
}

export const toTotpStep = (now: Date): number => Math.floor(now.getTime() / 1000 / stepSeconds);

/**
 * The step that a code is of, or null. A step of tolerance both ways for clocks and slow fingers (RFC 6238, section 5.2); steps up to `lastStep` are spent: a
 * code works once.
 */
export function matchTotp(secret: string, code: string, now: Date, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const current = toTotpStep(now);
  for (const step of [current, current - 1, current + 1])
    if (step > lastStep && timingSafeEqual(Buffer.from(computeTotpCode(secret, step)), Buffer.from(code))) return step;
  return null;
}

/** What authenticator apps read from a QR code. */
export const createOtpauthUrl = (secret: string, account: string): string =>
  `otpauth://totp/${encodeURIComponent(`Fleet platform:${account}`)}?secret=${secret}&issuer=${encodeURIComponent('Fleet platform')}`;
