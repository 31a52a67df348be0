export { type DedupeStore, dedupeKey, MemoryDedupeStore } from './dedupe-store.ts';
export {
  EnvelopeError,
  parseEnvelope,
  type VehicleNotification,
  type WebhookEnvelope,
  type WebhookPayload,
} from './envelope.ts';
export { type ReceiveOptions, type ReceiveResult, receiveWebhook, type WebhookRequest } from './receive-webhook.ts';
export {
  computeSignature,
  type HeaderMap,
  type SignatureVerdict,
  type SignedRequest,
  verifySecret,
  verifySignature,
} from './signature.ts';
