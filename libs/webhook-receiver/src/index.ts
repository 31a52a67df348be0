export { type DedupeStore, dedupeKeyOf, MemoryDedupeStore } from './deduplicate.ts';
export {
  EnvelopeError,
  parseEnvelope,
  type VehicleNotification,
  type WebhookEnvelope,
  type WebhookPayload,
} from './envelope.ts';
export { type Received, type ReceiveOptions, receiveWebhook, type WebhookRequest } from './receive.ts';
export {
  type HeaderMap,
  type SignatureVerdict,
  type SignedRequest,
  signatureOf,
  verifySecret,
  verifySignature,
} from './secrets.ts';
