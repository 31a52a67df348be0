import { HOTP, Secret } from 'otpauth';

/** Returns the code that an authenticator app displays in one step (RFC 4226, section 5.3). */
export const computeTotpCode = (secret: string, step: number): string =>
  HOTP.generate({ secret: Secret.fromBase32(secret), counter: step });
