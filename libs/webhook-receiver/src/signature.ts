import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Headers as Node's HTTP server gives them: names in lower case. */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Result of a signature check. */
export type SignatureVerdict =
  | { readonly kind: 'verified'; readonly id: string; readonly timestampMs: number }
  /**
   * `missing`: a header is missing or malformed. `expired`: too old, or in the future. `mismatch`: the signature
   * matches none of the secrets.
   */
  | { readonly kind: 'missing' | 'expired' | 'mismatch' };

/** Input of a signature check. */
export interface SignedRequest {
  readonly headers: HeaderMap;
  /** The body, byte by byte as received. */
  readonly body: string | Uint8Array;
  /** Both the old and the new one during a rotation. */
  readonly secrets: readonly string[];
  /** Largest difference between the sender's clock and this one. Default: five minutes. */
  readonly toleranceMs?: number;
  readonly nowMs?: number;
}

const defaultToleranceMs = 300_000;

/** Returns the value of a header; the first one of several. */
export function getHeader(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}

/** Compares two texts in constant time. */
function isEqualConstantTime(actual: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(actual), digest(expected));
}

/** Returns whether `X-Webhook-Secret` carries one of the secrets. Compares all of them, in constant time. */
export function verifySecret(actual: string | undefined, secrets: readonly string[]): boolean {
  if (actual === undefined || actual === '') return false;
  return secrets.map((secret) => isEqualConstantTime(actual, secret)).includes(true);
}

const secretPrefix = 'whsec_';

/** Returns the decoded part after `whsec_`, else the secret's own bytes. */
function decodeSecret(secret: string): Buffer {
  const encoded = secret.slice(secretPrefix.length);
  return secret.startsWith(secretPrefix) && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
    ? Buffer.from(encoded, 'base64')
    : Buffer.from(secret);
}

/** Returns a Standard Webhooks signature: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. */
export const computeSignature = (secret: string, id: string, timestamp: string, body: string | Uint8Array): string =>
  `v1,${createHmac('sha256', decodeSecret(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/**
 * Verifies `webhook-id`, `webhook-timestamp` and `webhook-signature`, which may hold several signatures separated by
 * spaces.
 */
export function verifySignature(request: SignedRequest): SignatureVerdict {
  const { headers, body, secrets, toleranceMs = defaultToleranceMs, nowMs = Date.now() } = request;
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    getHeader(headers, name),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined || !/^\d{1,12}$/.test(timestamp))
    return { kind: 'missing' };
  const timestampMs = Number(timestamp) * 1_000;
  if (Math.abs(nowMs - timestampMs) > toleranceMs) return { kind: 'expired' };
  const signatureList = signatures.split(' ').filter((signature) => signature.startsWith('v1,'));
  // An empty secret matches nothing: a setting with a trailing comma must not accept everyone.
  const expected = secrets
    .filter((secret) => secret !== '')
    .map((secret) => computeSignature(secret, id, timestamp, body));
  const matches = expected.flatMap((candidate) =>
    signatureList.map((signature) => isEqualConstantTime(signature, candidate)),
  );
  return matches.includes(true) ? { kind: 'verified', id, timestampMs } : { kind: 'mismatch' };
}
