import type { WebhookRecord } from '@fleet/storage';
import { type Static, Type } from 'typebox';
import { idList, nullableField, trimmedText } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';

/** A URL of a user that receives notifications. */
export type Webhook = WebhookRecord;

/** Largest number of webhooks of a user. */
export const maxWebhooks = 10;

const url = Type.String({ minLength: 1, description: 'A public https URL.' });
const secret = Type.String({
  minLength: 8,
  maxLength: 128,
  pattern: '^[\\x21-\\x7e]*$',
  errorMessage: { pattern: 'must have visible ASCII characters only' },
  description: 'Visible ASCII characters; sent as X-Webhook-Secret. Generated if absent.',
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
      description: 'Headers to send in addition to the platform’s own.',
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
    description: 'Hours for which X-Webhook-Secret still carries the old secret.',
  }),
});
export type RegenerateBody = Static<typeof regenerateBody>;

const responseFields = {
  ...recordProperties,
  url: Type.String(),
  name: nullable(Type.String()),
  enabled: Type.Boolean(),
  notification_types: Type.Array(Type.String()),
  vehicle_ids: Type.Array(recordId),
  headers: Type.Unsafe<Record<string, string>>({ type: 'object', additionalProperties: { type: 'string' } }),
  status: Type.Union([Type.Literal('active'), Type.Literal('failing'), Type.Literal('disabled')]),
  disabled_reason: nullable(Type.String()),
  secret_hint: Type.String({ description: 'The last four characters of the secret.' }),
  failing_since: nullable(time),
  consecutive_failures: Type.Integer({ minimum: 0 }),
  last_success_at: nullable(time),
  last_failure_at: nullable(time),
};

export const webhookResponseSchema = Type.Object(responseFields, { title: 'Webhook' });
export type WebhookResponse = Static<typeof webhookResponseSchema>;

/** Returned only when the secret is created. */
export const webhookWithSecret = Type.Object(
  {
    ...responseFields,
    secret: nullable(
      Type.String({ description: 'Returned only in this response; null in the response to a repeated request.' }),
    ),
  },
  { title: 'WebhookWithSecret' },
);
