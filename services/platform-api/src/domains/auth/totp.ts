import { HOTP, Secret, TOTP } from 'otpauth';

/** Time-based one-time passwords (RFC 6238) with SHA-1, 30 seconds and 6 digits, which all authenticator apps support. */
const stepSeconds = 30;
const secretBytes = 20;
const issuer = 'Fleet platform';

/** Returns a secret of 160 bits (RFC 4226, section 4) in base32. */
export const generateTotpSecret = (): string => new Secret({ size: secretBytes }).base32;

export const toTotpStep = (now: Date): number => Math.floor(now.getTime() / 1000 / stepSeconds);

/**
 * Returns the step of a code, or null. Accepts one step before and after the current one (RFC 6238, section 5.2). Steps up to
 * `lastStep` are used up: a code works once.
 */
export function matchTotp(secret: string, code: string, now: Date, lastStep: number): number | null {
  if (!/^\d{6}$/.test(code)) return null;
  const current = toTotpStep(now);
  const key = Secret.fromBase32(secret);
  for (const step of [current, current - 1, current + 1])
    if (step > lastStep && HOTP.validate({ token: code, secret: key, counter: step, window: 0 }) === 0) return step;
  return null;
}

/** Returns the URL that authenticator apps read from a QR code. */
export const createOtpauthUrl = (secret: string, account: string): string =>
  new TOTP({ issuer, label: account, secret: Secret.fromBase32(secret), period: stepSeconds }).toString();
