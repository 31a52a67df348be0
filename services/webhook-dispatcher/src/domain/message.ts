import { createHmac } from 'node:crypto';
import type { NotificationRaised } from '@fleet/bus';
import type { CustomHeader } from '@fleet/storage';

const userAgent = 'FleetPlatform-Webhooks/1.0';
const jsonType = 'application/json; charset=utf-8';

/** Request of an attempt: headers in their order, and body. */
export interface Message {
  readonly headers: readonly CustomHeader[];
  readonly body: string;
}

/** Input of a message. */
export interface MessageInput {
  readonly url: URL;
  /** `msg_` and the delivery's id: equal at every attempt. */
  readonly messageId: string;
  readonly attempt: number;
  /** The notification, as text. */
  readonly body: string;
  readonly customHeaders: readonly CustomHeader[];
  /** Value of `X-Webhook-Secret`. */
  readonly secret: string;
  /** Signing secrets: two during a rotation. */
  readonly signingSecrets: readonly string[];
  readonly nowMs: number;
}

/** Builds the request of an attempt. */
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

/** Returns a Standard Webhooks signature. */
const computeSignature = (secret: string, id: string, timestamp: string, body: string): string =>
  `v1,${createHmac('sha256', decodeSecret(secret)).update(`${id}.${timestamp}.${body}`).digest('base64')}`;

const secretPrefix = 'whsec_';
const base64Pattern = /^[A-Za-z0-9+/]+={0,2}$/;

/** Returns the decoded part after `whsec_`, else the secret's own bytes. */
function decodeSecret(secret: string): Buffer {
  const encoded = secret.slice(secretPrefix.length);
  return secret.startsWith(secretPrefix) && base64Pattern.test(encoded)
    ? Buffer.from(encoded, 'base64')
    : Buffer.from(secret);
}

/** Returns the inner body: the notification and the user that owns the vehicle. */
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

/** Returns the inner body of a test, without a vehicle. */
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
