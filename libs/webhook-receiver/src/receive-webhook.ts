import { type DedupeStore, dedupeKey } from './dedupe-store.ts';
import { EnvelopeError, parseEnvelope, type WebhookEnvelope } from './envelope.ts';
import { getHeader, type HeaderMap, verifySecret, verifySignature } from './signature.ts';

/** A request as it came. */
export interface WebhookRequest {
  /** Names in lower case, as Node's HTTP server gives them. */
  readonly headers: HeaderMap;
  /** The body, byte by byte as it came. */
  readonly body: string | Uint8Array;
}

/** How requests are taken. */
export interface ReceiveOptions {
  /** During a rotation both the old one and the new one. */
  readonly secrets: readonly string[];
  readonly store: DedupeStore;
  /** Also checks the signature, which tells a copied secret from the sender's own requests. Default: true. */
  readonly checkSignature?: boolean;
  /** How far the sender's clock may be from ours. Default: five minutes. */
  readonly toleranceMs?: number;
}

/** What a request is, and the status to answer with. */
export type ReceiveResult =
  | { readonly status: 200; readonly kind: 'accepted' | 'repeated'; readonly envelope: WebhookEnvelope }
  | { readonly status: 401 | 400; readonly kind: 'refused'; readonly reason: string };

/** Does what the interface asks of a receiver: verifies, reads, and tells what has come before. To be answered at once, and worked at behind that. */
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
