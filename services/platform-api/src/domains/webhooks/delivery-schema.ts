import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { attemptErrors, deliveryStatuses } from '@fleet/storage';
import { type Static, Type } from 'typebox';
import { stringEnum, text } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';

const deliveryId = Type.String({ pattern: '^[0-9a-f]{24}$', examples: ['0123456789abcdef01234567'] });

export const deliveryParams = Type.Object({ id: recordId, deliveryId });

export const listDeliveriesQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'created_at']),
  status: Type.Optional(stringEnum(deliveryStatuses)),
  type: Type.Optional(
    Type.Unsafe<string>({
      ...text(1, 100, { description: 'A notification type, such as `sos`.' }),
      alias: 'notification_type',
    }),
  ),
  imei: Type.Optional(
    Type.String({
      pattern: '^\\d{1,20}$',
      errorMessage: 'must be a terminal number of 1 to 20 digits',
      description: 'Terminal number, with or without leading zeros.',
    }),
  ),
  from: Type.Optional(timeParameter),
  to: Type.Optional(timeParameter),
});
export type ListDeliveriesQuery = Static<typeof listDeliveriesQuery>;

export const testBody = Type.Object({
  notification_type: Type.String({ minLength: 1, maxLength: 100, default: 'sos' }),
});
export type TestBody = Static<typeof testBody>;

const replayable = ['failed', 'skipped'] as const;

export const replayBody = Type.Object({
  since: timeParameter,
  until: Type.Optional(timeParameter),
  statuses: Type.Optional(
    Type.Array(stringEnum(replayable), { minItems: 1, maxItems: 2, description: 'Default: both.' }),
  ),
});
export type ReplayBody = Static<typeof replayBody>;

/** Statuses that are replayed by default. */
export const replayedStatuses = replayable;

const lastAttempt = Type.Object({
  started_at: time,
  duration_ms: Type.Integer({ minimum: 0 }),
  status_code: nullable(Type.Integer()),
  error_code: nullable(stringEnum(attemptErrors)),
});

const deliveryFields = {
  ...recordProperties,
  delivery_id: deliveryId,
  webhook_id: recordId,
  notification_id: recordId,
  notification_type: Type.String(),
  imei: Type.String(),
  status: stringEnum(deliveryStatuses),
  attempt_count: Type.Integer({ minimum: 0 }),
  next_attempt_at: nullable(time),
  completed_at: nullable(time),
  last_attempt: Type.Union([lastAttempt, Type.Null()], { description: 'The newest attempt; null before the first.' }),
};

export const deliveryResponseSchema = Type.Object(deliveryFields, { title: 'Delivery' });
export type DeliveryResponse = Static<typeof deliveryResponseSchema>;

export const attemptResponseSchema = Type.Object(
  {
    number: Type.Integer({ minimum: 1 }),
    trigger: stringEnum(['schedule', 'retry', 'replay', 'test']),
    started_at: time,
    duration_ms: Type.Integer({ minimum: 0 }),
    status_code: nullable(Type.Integer()),
    error_code: nullable(stringEnum(attemptErrors)),
    response_body: nullable(Type.String({ description: 'The first 4 KiB of the response body.' })),
  },
  { title: 'Attempt' },
);
export type AttemptResponse = Static<typeof attemptResponseSchema>;

export const deliveryDetails = Type.Object(
  {
    ...deliveryFields,
    request: nullable(
      Type.Object(
        {
          headers: Type.Unsafe<Record<string, string>>({
            type: 'object',
            additionalProperties: { type: 'string' },
          }),
          body: Type.String(),
        },
        { description: 'The request of the newest attempt, with the secret masked; null before the first attempt.' },
      ),
    ),
    attempts: Type.Array(attemptResponseSchema, { description: 'The newest 50 attempts, oldest first.' }),
  },
  { title: 'DeliveryDetails' },
);
export type DeliveryDetails = Static<typeof deliveryDetails>;

export const replayResponseSchema = Type.Object(
  { queued: Type.Integer({ minimum: 0, maximum: 10_000 }) },
  { title: 'Replay' },
);

/** Longest time span and finest division of statistics. */
const maxHours = 168;
const maxBuckets = 48;

export const statsQuery = Type.Object({
  hours: Type.Optional(
    Type.Integer({ minimum: 1, maximum: maxHours, description: 'Length of the time span until now. Default: 24.' }),
  ),
  buckets: Type.Optional(
    Type.Integer({ minimum: 1, maximum: maxBuckets, description: 'Adds `series` with this number of equal parts.' }),
  ),
});
export type StatsQuery = Static<typeof statsQuery>;

const count = Type.Integer({ minimum: 0 });
const bucket = Type.Object({ from: time, succeeded: count, failed: count, skipped: count });

const milliseconds = nullable(Type.Integer({ minimum: 0 }));

export const statsResponseSchema = Type.Object(
  {
    total: Type.Integer({ minimum: 0 }),
    succeeded: Type.Integer({ minimum: 0 }),
    failed: Type.Integer({ minimum: 0 }),
    skipped: Type.Integer({ minimum: 0 }),
    pending: Type.Integer({ minimum: 0 }),
    success_rate: nullable(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: 'Share of succeeded deliveries among succeeded and failed ones; null if there are none.',
      }),
    ),
    p50_ms: milliseconds,
    p95_ms: milliseconds,
    series: Type.Optional(
      Type.Array(bucket, { description: 'With `buckets`: ended deliveries by their creation, oldest first.' }),
    ),
  },
  { title: 'WebhookStats' },
);
export type StatsResponse = Static<typeof statsResponseSchema>;
