import { type DedupeStore, dedupeKey } from './dedupe-store.ts';
import { EnvelopeError, parseEnvelope, type WebhookEnvelope } from './envelope.ts';
import { getHeader, type HeaderMap, verifySecret, verifySignature } from './signature.ts';

/** A raw request. */
export interface WebhookRequest {
  /** Names in lower case, as Node's HTTP server gives them. */
  readonly headers: HeaderMap;
  /** The body, byte by byte as received. */
  readonly body: string | Uint8Array;
}

/** Settings of a receiver. */
export interface ReceiveOptions {
  /** Both the old and the new one during a rotation. */
  readonly secrets: readonly string[];
  readonly store: DedupeStore;
  /** Also verifies the signature, which distinguishes a copied secret from the sender's own requests. Default: true. */
  readonly checkSignature?: boolean;
  /** Largest difference between the sender's clock and this one. Default: five minutes. */
  readonly toleranceMs?: number;
}

/** Kind of a request, and the status of the response. */
export type ReceiveResult =
  | { readonly status: 200; readonly kind: 'accepted' | 'repeated'; readonly envelope: WebhookEnvelope }
  | { readonly status: 401 | 400; readonly kind: 'refused'; readonly reason: string };

/**
 * Verifies and parses a request, and detects repeated notifications, as the interface requires. Respond immediately
 * with the status, and do the work afterwards.
 */
export async function receiveWebhook(request: WebhookRequest, options: ReceiveOptions): Promise<ReceiveResult> {
  const { secrets, store, checkSignature = true, toleranceMs } = options;
  if (!verifySecret(getHeader(request.headers, 'x-webhook-secret'), secrets))
    return { status: 401, kind: 'refused', reason: 'the secret is wrong or missing' };
  if (checkSignature) {
    const { kind } = verifySignature({ ...request, secrets, ...(toleranceMs === undefined ? {} : { toleranceMs }) });
    if (kind !== 'verified') return { status: 401, kind: 'refused', reason: `the signature is not valid: ${kind}` };
  }
  try {
    const envelope = parseEnvelope(request.body);
    const isNew = await store.add(dedupeKey(envelope.payload.notification));
    return { status: 200, kind: isNew ? 'accepted' : 'repeated', envelope };
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error;
    return { status: 400, kind: 'refused', reason: error.message };
  }
}
