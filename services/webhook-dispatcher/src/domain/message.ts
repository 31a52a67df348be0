import { createHmac } from 'node:crypto';
import type { NotificationRaised } from '@fleet/bus';
import type { CustomHeader } from '@fleet/storage';

const userAgent = 'FleetPlatform-Webhooks/1.0';
const jsonType = 'application/json; charset=utf-8';

/** What is sent at an attempt: the request's headers in their order, and its body. */
export interface Message {
  readonly headers: readonly CustomHeader[];
  readonly body: string;
}

/** What a message is made of. */
export interface MessageInput {
  readonly url: URL;
  /** `msg_` and the delivery's id: the same at every attempt. */
  readonly messageId: string;
  readonly attempt: number;
  /** The notification, as text. */
  readonly body: string;
  readonly customHeaders: readonly CustomHeader[];
  /** What `X-Webhook-Secret` carries. */
  readonly secret: string;
  /** Those that sign: during a rotation two. */
  readonly signingSecrets: readonly string[];
  readonly nowMs: number;
}

/** The request of an attempt (interface.md, "Webhook delivery"; platform-contract.md, section 15.2). */
export function createMessage(input: MessageInput): Message {
  const { url, messageId, attempt, body, customHeaders, secret, nowMs } = input;
  const timestamp = String(Math.floor(nowMs / 1_000));
  const signedHeaders: CustomHeader[] = [
    { name: 'X-Webhook-Secret', value: secret },
    { name: 'Content-Type', value: jsonType },
    { name: 'User-Agent', value: userAgent },
    { name: 'Webhook-Id', value: messageId },
    { name: 'Webhook-Timestamp', value: timestamp },
    ...customHeaders,
  ];
  const contentLength = Buffer.byteLength(body);
  const envelopeHeaders = [...signedHeaders, { name: 'Content-Length', value: String(contentLength) }];
  const envelope = JSON.stringify({
    date: nowMs,
    headers: Object.fromEntries(envelopeHeaders.map(({ name, value }) => [name, [value]])),
    content_length: contentLength,
    body,
    method: 'POST',
    path: url.pathname,
    query: url.search.slice(1),
  });
  const signatures = input.signingSecrets.map((signingSecret) =>
    computeSignature(signingSecret, messageId, timestamp, envelope),
  );
  return {
    headers: [
      ...signedHeaders,
      { name: 'Webhook-Attempt', value: String(attempt) },
      { name: 'Webhook-Signature', value: signatures.join(' ') },
      { name: 'Content-Length', value: String(Buffer.byteLength(envelope)) },
    ],
    body: envelope,
  };
}

/** A signature as Standard Webhooks has it. */
export const computeSignature = (secret: string, id: string, timestamp: string, body: string): string =>
  `v1,${createHmac('sha256', decodeSecret(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`;

const secretPrefix = 'whsec_';
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;

/** The decoded part behind `whsec_`, else the secret's own bytes. */
function decodeSecret(secret: string): Buffer {
  const encoded = secret.slice(secretPrefix.length);
  return secret.startsWith(secretPrefix) && base64Pattern.test(encoded)
    ? Buffer.from(encoded, 'base64')
    : Buffer.from(secret);
}

/** The inner body: the notification as the interface shows it, and the user that owns the vehicle. */
export function createBody({
  notification,
  ownerUserId,
}: Pick<NotificationRaised, 'notification' | 'ownerUserId'>): string {
  const { id, title, description, notification_type, imei, timestamp, server_timestamp, location } = notification;
  const { severity, attributes } = notification;
  const { latitude, longitude } = location;
  return JSON.stringify({
    notification: {
      title,
      description,
      notification_type,
      imei,
      timestamp,
      server_timestamp,
      location: { latitude, longitude },
      id,
      severity,
      attributes,
    },
    user: ownerUserId,
  });
}

/** The inner body of a test, which is about no vehicle. */
export const createTestBody = (notificationType: string, userId: number, nowMs: number): string =>
  JSON.stringify({
    notification: {
      title: 'Test',
      description: 'A test of this webhook.',
      notification_type: notificationType,
      imei: '000000000000',
      timestamp: nowMs,
      server_timestamp: nowMs,
      location: { latitude: 0, longitude: 0 },
      severity: 'info',
      attributes: { test: true, gps_valid: false },
    },
    user: userId,
  });
