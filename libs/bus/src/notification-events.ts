import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';
import { eventSequence, streamStartId } from './stream-events.ts';

const id = Type.Integer({ minimum: 1 });
const milliseconds = Type.Integer({ minimum: 0 });
// A union of literals that is built from a list has no static type.
const stringEnum = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

/**
 * Event in the stream NOTIFICATIONS on `notificationSubject`: a notification was recorded. `Nats-Msg-Id` is the dedupe
 * key. Delivered at least once; `notification.id` identifies repetitions.
 */
export const notificationRaised = defineEvent({
  subject: 'notification.*.*',
  schema: Type.Object({
    accountId: id,
    /** The vehicle's owning user, whose webhooks receive it. */
    ownerUserId: id,
    /** Preference of the owning user when the notification was created: false excludes webhooks. */
    wantedByOwner: Type.Boolean(),
    /** Address for drivers and for users with whom the vehicle is shared; by default that of the notification. */
    addressForOthers: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    /** The record as the Platform API returns it (services/platform-api/openapi.json). */
    notification: Type.Object(
      {
        id,
        title: Type.String(),
        description: Type.String(),
        notification_type: Type.String({ minLength: 1 }),
        imei: Type.String(),
        timestamp: milliseconds,
        server_timestamp: milliseconds,
        location: Type.Object({ latitude: Type.Number(), longitude: Type.Number() }),
        vehicle_id: id,
        vehicle_no: Type.String(),
        severity: Type.Union([Type.Literal('critical'), Type.Literal('warning'), Type.Literal('info')]),
        attributes: Type.Record(Type.String(), Type.Unknown()),
        backfilled: Type.Boolean(),
      },
      { additionalProperties: true },
    ),
  }),
});

/** Payload of `notificationRaised`. */
export type NotificationRaised = Static<typeof notificationRaised.schema>;

/**
 * Returns the subject of a notification: by account and canonical terminal number, `none` for a vehicle without a
 * terminal.
 */
export const notificationSubject = (accountId: number, imei: string | null): string =>
  `notification.${accountId}.${imei ?? 'none'}`;

/** Kinds of live events, as the websocket names them (docs/reference/websocket.md). */
export const liveEventTypes = [
  'location',
  'status',
  'notification',
  'command',
  'upload',
  'stream',
  'media',
  'vehicle',
  'delivery',
] as const;

/** One of `liveEventTypes`. */
export type LiveEventType = (typeof liveEventTypes)[number];

/**
 * Event on `liveSubject` for the websockets of all replicas: a change of an account's vehicles. Lost while the broker
 * is unavailable; clients resume from records. `data` is the complete websocket payload; the forwarding replica removes
 * fields that a viewer may not see, such as the driver of a shared vehicle.
 */
export const liveEvents = defineEvent({
  subject: 'live.*',
  schema: Type.Object({
    accountId: id,
    events: Type.Array(
      Type.Object({
        type: stringEnum(liveEventTypes),
        vehicleId: id,
        /** Server time of the event, ms. */
        atMs: milliseconds,
        data: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
        /** With `stream`: several replicas forward one event. */
        order: Type.Optional(eventSequence),
        startId: Type.Optional(streamStartId),
        /** With `delivery`: only this user receives the event. */
        userId: Type.Optional(id),
      }),
    ),
  }),
});

/** Payload of `liveEvents`. */
export type LiveEvents = Static<typeof liveEvents.schema>;

/** One event of `liveEvents`. */
export type LiveEvent = LiveEvents['events'][number];

/** Returns the subject of an account's live events. */
export const liveSubject = (accountId: number): string => `live.${accountId}`;

/**
 * Event: records that telemetry or delivery depend on have changed, so that caches reload them. Lost while the broker
 * is unavailable; caches also expire.
 */
export const fleetChanged = defineEvent({
  subject: 'fleet.changed',
  schema: Type.Object({
    accountId: id,
    kind: stringEnum(['vehicles', 'drivers', 'groups', 'geofences', 'routes', 'preferences', 'webhooks']),
  }),
});

/**
 * Event: a session of a terminal began or ended at a gateway. Lost while the broker is unavailable; Redis holds the
 * truth.
 */
export const sessionChanged = defineEvent({
  subject: 'session.changed',
  schema: Type.Object({
    /** Canonical number. */
    imei: Type.String({ pattern: '^\\d{1,20}$' }),
    isOnline: Type.Boolean(),
    atMs: milliseconds,
  }),
});

/**
 * Event: a terminal that belongs to no vehicle connected, registered or disconnected. Lost while the broker is
 * unavailable; the records hold the truth.
 */
export const unassignedDeviceSeen = defineEvent({
  subject: 'unassigned-device.seen',
  schema: Type.Object({
    /** Canonical number. */
    imei: Type.String({ pattern: '^\\d{1,20}$' }),
    atMs: milliseconds,
  }),
});

const deliveryId = Type.String({ pattern: '^[0-9a-f]{24}$' });

/**
 * A webhook delivery whose first attempt is due: subject in the work-queue stream WEBHOOKS. Later attempts are
 * scheduled in the database.
 */
export const deliveryDue = defineEvent({
  subject: 'webhook.due.*',
  schema: Type.Object({
    deliveryId,
    webhookId: id,
  }),
});

/** Returns the subject of the due deliveries of a webhook. */
export const deliveryDueSubject = (webhookId: number): string => `webhook.due.${webhookId}`;

const attempt = Type.Object({
  number: Type.Integer({ minimum: 1 }),
  trigger: Type.String(),
  startedAtMs: milliseconds,
  durationMs: milliseconds,
  statusCode: Type.Union([Type.Integer(), Type.Null()]),
  errorCode: Type.Union([Type.String(), Type.Null()]),
  responseBody: Type.Union([Type.String(), Type.Null()]),
});

/** Requests of platform-api to webhook-dispatcher; the caller has checked who owns the webhook. */
export const webhookRequests = {
  /** Sends a test notification immediately, through the same code and guards, and returns the attempt. */
  test: defineRequest({
    subject: 'webhook-dispatcher.test',
    request: Type.Object({ webhookId: id, notificationType: Type.String() }),
    reply: Type.Object({ attempt: Type.Union([attempt, Type.Null()]) }),
  }),
  /** Retries a delivery immediately; `running` if an attempt is in progress. */
  retry: defineRequest({
    subject: 'webhook-dispatcher.retry',
    request: Type.Object({ webhookId: id, deliveryId }),
    reply: Type.Object({
      result: Type.Union([Type.Literal('queued'), Type.Literal('running'), Type.Literal('unknown')]),
    }),
  }),
  /** Requeues failed or skipped deliveries of a time span, oldest first; returns their number. */
  replay: defineRequest({
    subject: 'webhook-dispatcher.replay',
    request: Type.Object({
      webhookId: id,
      sinceMs: milliseconds,
      untilMs: Type.Union([milliseconds, Type.Null()]),
      statuses: Type.Array(Type.Union([Type.Literal('failed'), Type.Literal('skipped')]), { minItems: 1 }),
    }),
    reply: Type.Object({ queued: Type.Integer({ minimum: 0 }) }),
  }),
} as const;

/**
 * Requests platform-api to notify the owner of a failing or disabled webhook, by a notification `webhook_disabled` and
 * an email. Repeated requests create no second notification.
 */
export const notifyWebhookOwner = defineRequest({
  subject: 'platform-api.tell-of-webhook',
  request: Type.Object({
    webhookId: id,
    /** Elapsed percentage of the time after which a failing webhook is disabled; 100: it is disabled. */
    percent: Type.Union([Type.Literal(50), Type.Literal(90), Type.Literal(100)]),
    reason: Type.Union([Type.Literal('failing'), Type.Literal('gone')]),
    failingSinceMs: milliseconds,
    /** Time of the finding, used as the notification's time. */
    atMs: milliseconds,
    /** Vehicle of a failed delivery, named by the notification. */
    vehicleId: id,
  }),
  reply: Type.Object({ told: Type.Boolean() }),
});
