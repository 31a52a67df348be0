import type { AddressGuard, Encryption } from '@fleet/service-kit';
import {
  type AttemptRecord,
  type AttemptTrigger,
  type DeliveryRecord,
  type WebhookRecord,
  webhookSecretPurpose,
} from '@fleet/storage';
import { type MessageParts, messageOf } from '../domain/message.ts';
import { readRetryAfter } from '../domain/retry.ts';
import { type AttemptEnd, isSuccess } from '../net/attempt-end.ts';
import type { Connections } from '../net/connections.ts';
import { sendMessage } from '../net/send.ts';

/** What attempts are made with. */
export interface SendParts {
  readonly guard: AddressGuard;
  readonly encryption: Encryption;
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
}

/** What is to be sent to a webhook. */
export interface Sending {
  readonly messageId: string;
  readonly number: number;
  readonly trigger: AttemptTrigger;
  readonly body: string;
  readonly connections: Connections;
}

/** How an attempt went. */
export interface Sent {
  readonly isSuccess: boolean;
  readonly attempt: AttemptRecord;
  readonly request: DeliveryRecord['request'];
  readonly retryAfterMs: number | null;
}

const failed = (errorCode: AttemptRecord['errorCode']): AttemptEnd => ({
  statusCode: null,
  errorCode,
  responseBody: null,
  retryAfter: undefined,
});

/** Makes one attempt, whatever it is for: the address is checked, and the connection goes to the address that was checked. */
export async function sendAttempt(parts: SendParts, webhook: WebhookRecord, sending: Sending): Promise<Sent> {
  const { number, trigger, messageId, body } = sending;
  const startedAtMs = Date.now();
  const started = performance.now();
  const secrets = secretsOf(parts.encryption, webhook, startedAtMs);
  const message: MessageParts = {
    // A URL was checked when it was saved; what the guard refuses is not sent.
    url: new URL(webhook.url),
    messageId,
    attempt: number,
    body,
    customHeaders: webhook.headers,
    ...secrets,
    nowMs: startedAtMs,
  };
  const end = await deliver(parts, message, sending.connections, started);
  const masked = messageOf({ ...message, secret: mask(secrets.secret), signingSecrets: [] });
  const attempt = {
    number,
    trigger,
    startedAtMs,
    durationMs: Math.round(performance.now() - started),
    statusCode: end.statusCode,
    errorCode: end.errorCode,
    responseBody: end.responseBody,
  };
  const request = { headers: masked.headers.filter(({ name }) => name !== 'Webhook-Signature'), body: masked.body };
  return { isSuccess: isSuccess(end), attempt, request, retryAfterMs: readRetryAfter(end.retryAfter, Date.now()) };
}

async function deliver(
  { guard, connectTimeoutMs, attemptTimeoutMs }: SendParts,
  message: MessageParts,
  connections: Connections,
  started: number,
): Promise<AttemptEnd> {
  const verdict = await guard.check(message.url.href);
  if (verdict.kind === 'unresolved') return failed('dns_error');
  if (verdict.kind !== 'allowed') return failed('blocked_address');
  const { url, addresses, lookup } = verdict;
  const agent = connections.agentFor(url, addresses, connectTimeoutMs);
  const timeoutMs = attemptTimeoutMs - (performance.now() - started);
  return sendMessage({ url, lookup, agent, connectTimeoutMs, timeoutMs }, messageOf(message));
}

/** During a rotation the old secret is sent, and both sign. */
function secretsOf(
  encryption: Encryption,
  { userId, sealedSecret, sealedOldSecret, graceUntil }: WebhookRecord,
  nowMs: number,
): Pick<MessageParts, 'secret' | 'signingSecrets'> {
  const open = (sealed: string): string => encryption.open(sealed, webhookSecretPurpose(userId));
  const secret = open(sealedSecret);
  if (sealedOldSecret === null || graceUntil === null || graceUntil.getTime() <= nowMs)
    return { secret, signingSecrets: [secret] };
  const old = open(sealedOldSecret);
  return { secret: old, signingSecrets: [secret, old] };
}

const mask = (secret: string): string => `****${secret.slice(-4)}`;
