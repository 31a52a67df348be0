import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';
import { eventSequence, streamStartId } from './requests.ts';

const id = Type.Integer({ minimum: 1 });
const milliseconds = Type.Integer({ minimum: 0 });
/** A union of literals that is made of a list has no static type. */
const stringEnum = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

/**
 * A notification that is on record, in the stream NOTIFICATIONS on `notificationSubject`; its `Nats-Msg-Id` is the dedupe key. Whoever reads it meets it
 * at least once, and tells repetitions by `notification.id`.
 */
export const notificationRaised = defineEvent({
  subject: 'notification.*.*',
  schema: Type.Object({
    accountId: id,
    /** The vehicle's owning user: whose webhooks it goes to. */
    ownerUserId: id,
    /** What the owning user's preferences said when it was raised: false keeps it from webhooks. */
    wantedByOwner: Type.Boolean(),
    /** The address for drivers and for users whom the vehicle is shared with; as the notification's own where it is left out. */
    addressForOthers: Type.Optional(Type.Union([Type.String(), Type.Null()])),
    /** The record as the Platform API shows it (platform-contract.md, section 27). */
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

/** Subject of a notification: by account and canonical terminal number, `none` where the vehicle has no terminal. */
export const notificationSubject = (accountId: number, imei: string | null): string =>
  `notification.${accountId}.${imei ?? 'none'}`;

/** Kinds of live events, as the websocket names them (platform-contract.md, section 16). */
export const liveEventTypes = [
  'location',
  'status',
  'notification',
  'command',
  'upload',
  'stream',
  'media',
  'vehicle',
] as const;

/** One of `liveEventTypes`. */
export type LiveEventType = (typeof liveEventTypes)[number];

/**
 * What has just happened to vehicles of an account, for the websockets of all replicas, on `liveSubject`. Lost when the broker is away: clients resume from records.
 * `data` is what the websocket sends, complete; what a viewer may not see (the driver of a shared vehicle) is taken out by whoever sends it on.
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
        /** With `stream`: several replicas tell on what one has told them. */
        order: Type.Optional(eventSequence),
        startId: Type.Optional(streamStartId),
      }),
    ),
  }),
});

/** Payload of `liveEvents`. */
export type LiveEvents = Static<typeof liveEvents.schema>;

/** One event of `liveEvents`. */
export type LiveEvent = LiveEvents['events'][number];

/** Subject of an account's live events. */
export const liveSubject = (accountId: number): string => `live.${accountId}`;

/**
 * Records of an account have changed by which telemetry is judged or delivered: who caches them reads them again. Lost when the broker is away: caches end
 * by age as well.
 */
export const fleetChanged = defineEvent({
  subject: 'fleet.changed',
  schema: Type.Object({
    accountId: id,
    kind: stringEnum(['vehicles', 'drivers', 'groups', 'geofences', 'routes', 'preferences', 'webhooks']),
  }),
});

/** A session of a terminal has begun or ended at a gateway; lost when the broker is away: the state in Redis is the truth. */
export const sessionChanged = defineEvent({
  subject: 'session.changed',
  schema: Type.Object({
    /** Canonical number. */
    imei: Type.String({ pattern: '^\\d{1,20}$' }),
    isOnline: Type.Boolean(),
    atMs: milliseconds,
  }),
});

const deliveryId = Type.String({ pattern: '^[0-9a-f]{24}$' });

/** A webhook delivery whose first attempt is due: subject in the work-queue stream WEBHOOKS. Later attempts stand in the database with their times. */
export const deliveryDue = defineEvent({
  subject: 'webhook.due.*',
  schema: Type.Object({
    deliveryId,
    webhookId: id,
  }),
});

/** Subject of the due deliveries of a webhook. */
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

/** What platform-api asks of webhook-dispatcher; whose webhook it is has been checked. */
export const webhookRequests = {
  /** Sends a test notification now, through the same code and guards, and answers with the attempt. */
  test: defineRequest({
    subject: 'webhook-dispatcher.test',
    request: Type.Object({ webhookId: id, notificationType: Type.String() }),
    reply: Type.Object({ attempt: Type.Union([attempt, Type.Null()]) }),
  }),
  /** Tries a delivery again, now; `running` while an attempt is under way. */
  retry: defineRequest({
    subject: 'webhook-dispatcher.retry',
    request: Type.Object({ webhookId: id, deliveryId }),
    reply: Type.Object({
      result: Type.Union([Type.Literal('queued'), Type.Literal('running'), Type.Literal('unknown')]),
    }),
  }),
  /** Queues failed or skipped deliveries of a span again, the oldest first; answers how many. */
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
 * Asks platform-api to tell the owner of a webhook that it is failing, or was disabled for that: a notification `webhook_disabled` and an e-mail. Asked again, it makes no
 * second notification.
 */
export const notifyWebhookOwner = defineRequest({
  subject: 'platform-api.tell-of-webhook',
  request: Type.Object({
    webhookId: id,
    /** How much of the time after which a failing webhook is disabled is over; 100: it is disabled. */
    percent: Type.Union([Type.Literal(50), Type.Literal(90), Type.Literal(100)]),
    reason: Type.Union([Type.Literal('failing'), Type.Literal('gone')]),
    failingSinceMs: milliseconds,
    /** When it was found: the time of the notification. */
    atMs: milliseconds,
    /** The vehicle of a delivery that failed: the notification is about it. */
    vehicleId: id,
  }),
  reply: Type.Object({ told: Type.Boolean() }),
});
