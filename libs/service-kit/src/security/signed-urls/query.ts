import { createHmac, timingSafeEqual } from 'node:crypto';
import { firstSecret, splitSecrets } from '../secret-list.ts';

/** Result of the verification of a signed path. */
export type SignatureVerdict = 'valid' | 'missing' | 'expired' | 'invalid';

const computeSignature = (secret: string, text: string, expires: string): Buffer =>
  createHmac('sha256', secret).update(`${text}/${expires}`).digest();

/**
 * Returns the query that opens the resource `text` for `lifetimeMs`; the first word of the text names the kind of
 * resource. The first of several secrets, separated by commas, signs.
 */
export function signQuery(secrets: string, text: string, lifetimeMs: number): { expires: string; signature: string } {
  const expires = String(Math.ceil((Date.now() + lifetimeMs) / 1000));
  return { expires, signature: computeSignature(firstSecret(secrets), text, expires).toString('hex') };
}

/**
 * Verifies `expires` (Unix seconds) and `signature` (hex), in constant time for signatures of the right length. Any of
 * several secrets, separated by commas, may have signed.
 */
export function verifyQuery(
  secrets: string,
  text: string,
  query: { readonly expires?: unknown; readonly signature?: unknown },
  nowMs: number,
): SignatureVerdict {
  const { expires, signature } = query;
  if (expires === undefined || signature === undefined) return 'missing';
  if (typeof expires !== 'string' || !/^\d{1,12}$/.test(expires)) return 'invalid';
  if (typeof signature !== 'string' || !/^[0-9a-f]{64}$/i.test(signature)) return 'invalid';
  const received = Buffer.from(signature, 'hex');
  const isSigned = (secret: string): boolean => timingSafeEqual(computeSignature(secret, text, expires), received);
  if (!splitSecrets(secrets).some(isSigned)) return 'invalid';
  return Number(expires) * 1000 > nowMs ? 'valid' : 'expired';
}
