import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Headers as Node's HTTP server gives them: names in lower case. */
export type HeaderMap = Readonly<Record<string, string | readonly string[] | undefined>>;

/** What a signature was found to be. */
export type SignatureVerdict =
  | { readonly kind: 'verified'; readonly id: string; readonly timestampMs: number }
  /** `missing`: a header is not there, or is not what it should be. `expired`: too old, or from the future. `mismatch`: none of the secrets has signed this. */
  | { readonly kind: 'missing' | 'expired' | 'mismatch' };

/** What is signed, and by what it is checked. */
export interface SignedRequest {
  readonly headers: HeaderMap;
  /** The body, byte by byte as it came. */
  readonly body: string | Uint8Array;
  /** During a rotation both the old one and the new one. */
  readonly secrets: readonly string[];
  /** How far the sender's clock may be from ours. Default: five minutes. */
  readonly toleranceMs?: number;
  readonly nowMs?: number;
}

const defaultToleranceMs = 300_000;

/** The value of a header; that of the first where it came more than once. */
export function getHeader(headers: HeaderMap, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' || value === undefined ? value : value[0];
}

/** Whether two texts are the same; how long that takes tells nothing of them. */
function isEqualConstantTime(given: string, expected: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** Whether `X-Webhook-Secret` carries one of the secrets. All are compared, in constant time. */
export function verifySecret(given: string | undefined, secrets: readonly string[]): boolean {
  if (given === undefined || given === '') return false;
  return secrets.map((secret) => isEqualConstantTime(given, secret)).includes(true);
}

const secretPrefix = 'whsec_';

/** The decoded part behind `whsec_`, else the secret's own bytes. */
function decodeSecret(secret: string): Buffer {
  const encoded = secret.slice(secretPrefix.length);
  return secret.startsWith(secretPrefix) && /^[A-Za-z0-9+/]+={0,2}$/.test(encoded)
    ? Buffer.from(encoded, 'base64')
    : Buffer.from(secret);
}

/** A signature as Standard Webhooks makes it: `v1,` and the base64 of HMAC-SHA256 over `id.timestamp.body`. */
export const computeSignature = (secret: string, id: string, timestamp: string, body: string | Uint8Array): string =>
  `v1,${createHmac('sha256', decodeSecret(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;

/** Checks `webhook-id`, `webhook-timestamp` and `webhook-signature`, which may hold several signatures, separated by spaces. */
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
  // An empty secret is nobody's: a setting with a comma too many must let nobody in.
  const expected = secrets
    .filter((secret) => secret !== '')
    .map((secret) => computeSignature(secret, id, timestamp, body));
  const matches = expected.flatMap((candidate) =>
    signatureList.map((signature) => isEqualConstantTime(signature, candidate)),
  );
  return matches.includes(true) ? { kind: 'verified', id, timestampMs } : { kind: 'mismatch' };
}
