import type { Encryption, SsrfGuard } from '@fleet/service-kit';
import {
  type AttemptRecord,
  type AttemptTrigger,
  type DeliveryRecord,
  type WebhookRecord,
  webhookSecretPurpose,
} from '@fleet/storage';
import { createMessage, type MessageInput } from '../domain/message.ts';
import { parseRetryAfter } from '../domain/retry.ts';
import { type AttemptResult, isSuccess } from '../net/attempt-result.ts';
import type { Connections } from '../net/connections.ts';
import { sendMessage } from '../net/send.ts';

/** Dependencies of attempts. */
export interface SendDeps {
  readonly guard: SsrfGuard;
  readonly encryption: Encryption;
  readonly connectTimeoutMs: number;
  readonly attemptTimeoutMs: number;
}

/** Message for a webhook. */
export interface AttemptRequest {
  readonly messageId: string;
  readonly number: number;
  readonly trigger: AttemptTrigger;
  readonly body: string;
  readonly connections: Connections;
}

/** Outcome of an attempt. */
export interface AttemptOutcome {
  readonly isSuccess: boolean;
  readonly attempt: AttemptRecord;
  readonly request: DeliveryRecord['request'];
  readonly retryAfterMs: number | null;
}

const failedResult = (errorCode: AttemptRecord['errorCode']): AttemptResult => ({
  statusCode: null,
  errorCode,
  responseBody: null,
  retryAfter: undefined,
});

/** Makes one attempt: checks the address and connects to the checked address. */
export async function sendAttempt(
  deps: SendDeps,
  webhook: WebhookRecord,
  attemptRequest: AttemptRequest,
): Promise<AttemptOutcome> {
  const { number, trigger, messageId, body } = attemptRequest;
  const startedAtMs = Date.now();
  const started = performance.now();
  const secrets = openSecrets(deps.encryption, webhook, startedAtMs);
  const message: MessageInput = {
    // A URL was checked when it was saved; what the guard rejects now is not sent.
    url: new URL(webhook.url),
    messageId,
    attempt: number,
    body,
    customHeaders: webhook.headers,
    ...secrets,
    nowMs: startedAtMs,
  };
  const result = await deliver(deps, message, attemptRequest.connections, started);
  const masked = createMessage({ ...message, secret: maskSecret(secrets.secret), signingSecrets: [] });
  const attempt = {
    number,
    trigger,
    startedAtMs,
    durationMs: Math.round(performance.now() - started),
    statusCode: result.statusCode,
    errorCode: result.errorCode,
    responseBody: result.responseBody,
  };
  const request = { headers: masked.headers.filter(({ name }) => name !== 'Webhook-Signature'), body: masked.body };
  return {
    isSuccess: isSuccess(result),
    attempt,
    request,
    retryAfterMs: parseRetryAfter(result.retryAfter, Date.now()),
  };
}

async function deliver(
  { guard, connectTimeoutMs, attemptTimeoutMs }: SendDeps,
  message: MessageInput,
  connections: Connections,
  started: number,
): Promise<AttemptResult> {
  const verdict = await guard.check(message.url.href);
  if (verdict.kind === 'unresolved') return failedResult('dns_error');
  if (verdict.kind !== 'allowed') return failedResult('blocked_address');
  const { url, addresses, lookup } = verdict;
  const agent = connections.agentFor(url, addresses, connectTimeoutMs);
  const timeoutMs = attemptTimeoutMs - (performance.now() - started);
  return sendMessage({ url, lookup, agent, connectTimeoutMs, timeoutMs }, createMessage(message));
}

/** Sends the old secret during a rotation, with signatures of both. */
function openSecrets(
  encryption: Encryption,
  { userId, sealedSecret, sealedOldSecret, graceUntil }: WebhookRecord,
  nowMs: number,
): Pick<MessageInput, 'secret' | 'signingSecrets'> {
  const open = (sealed: string): string => encryption.open(sealed, webhookSecretPurpose(userId));
  const secret = open(sealedSecret);
  if (sealedOldSecret === null || graceUntil === null || graceUntil.getTime() <= nowMs)
    return { secret, signingSecrets: [secret] };
  const old = open(sealedOldSecret);
  return { secret: old, signingSecrets: [secret, old] };
}

const maskSecret = (secret: string): string => `****${secret.slice(-4)}`;
