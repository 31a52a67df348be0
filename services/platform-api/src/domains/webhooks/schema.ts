import type { WebhookRecord } from '@fleet/storage';
import { type Static, Type } from 'typebox';
import { idList, nullableField, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';

/** Where a user wants to be told of notifications. */
export type Webhook = WebhookRecord;

/** Webhooks of a user, at most. */
export const maxWebhooks = 10;

const url = Type.String({ minLength: 1, description: 'An https address of the public internet.' });
const secret = Type.String({
  minLength: 8,
  maxLength: 128,
  pattern: '^[\\x21-\\x7e]*$',
  errorMessage: { pattern: 'must have visible ASCII characters only' },
  description: 'Visible ASCII; sent as X-Webhook-Secret. Made here when absent.',
});
const options = {
  name: Type.Optional(nullableField(trimmedText(0, 100))),
  notification_types: Type.Optional(
    Type.Array(Type.String({ maxLength: 100 }), { maxItems: 500, description: 'Empty: all.' }),
  ),
  vehicle_ids: Type.Optional(idList(1_000)),
  headers: Type.Optional(
    Type.Unsafe<Record<string, string>>({
      type: 'object',
      additionalProperties: {
        type: 'string',
        maxLength: 1_000,
        pattern: '^[\\x20-\\x7e]*$',
        errorMessage: { pattern: 'must have printable ASCII characters only' },
      },
      maxProperties: 10,
      description: 'Headers that are sent beside the platform’s own.',
    }),
  ),
  enabled: Type.Optional(Type.Boolean()),
};

export const createBody = Type.Object({ url, secret: Type.Optional(secret), ...options });
export type CreateBody = Static<typeof createBody>;

export const updateBody = Type.Object({ url: Type.Optional(url), secret: Type.Optional(secret), ...options });
export type UpdateBody = Static<typeof updateBody>;

export const regenerateBody = Type.Object({
  secret: Type.Optional(secret),
  grace_hours: Type.Integer({
    minimum: 0,
    maximum: 72,
    default: 0,
    description: 'How long X-Webhook-Secret carries the old secret still.',
  }),
});
export type RegenerateBody = Static<typeof regenerateBody>;

const shownFields = {
  ...recordProperties,
  url: Type.String(),
  name: nullable(Type.String()),
  enabled: Type.Boolean(),
  notification_types: Type.Array(Type.String()),
  vehicle_ids: Type.Array(recordId),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  status: Type.Union([Type.Literal('active'), Type.Literal('failing'), Type.Literal('disabled')]),
  disabled_reason: nullable(Type.String()),
  secret_hint: Type.String({ description: 'The last four characters.' }),
  failing_since: nullable(time),
  consecutive_failures: Type.Integer({ minimum: 0 }),
  last_success_at: nullable(time),
  last_failure_at: nullable(time),
};

export const webhookResponseSchema = Type.Object(shownFields, { title: 'Webhook' });
export type WebhookResponse = Static<typeof webhookResponseSchema>;

/** Shown once: when the secret is made. */
export const webhookWithSecret = Type.Object(
  {
    ...shownFields,
    secret: nullable(Type.String({ description: 'Shown in this answer alone; null where the answer is a replay.' })),
  },
  { title: 'WebhookWithSecret' },
);
