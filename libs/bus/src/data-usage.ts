import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';

const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const byteCount = Type.Integer({ minimum: 0 });

/** Ways in which a device sends video over JT/T 1078. */
export const streamUsageKinds = ['live', 'playback', 'talk'] as const;

/** One of `streamUsageKinds`. */
export type StreamUsageKind = (typeof streamUsageKinds)[number];

/**
 * Bytes that a camera sent since the last report, as a span of the counter of its stream. A repeated report has the
 * same spans, so that it counts once.
 */
const usageSpan = Type.Object({
  /** Identifies the stream and its counter, which begins at 0. */
  session: Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
  imei,
  channel: Type.Integer({ minimum: 0, maximum: 255 }),
  kind: Type.Unsafe<StreamUsageKind>({ type: 'string', enum: [...streamUsageKinds] }),
  /** Counter at the last report. */
  fromBytes: byteCount,
  /** Counter now. */
  toBytes: byteCount,
});

/** Limit of the spans of one report, far below the size of a message. */
export const maxUsageSpans = 1_000;

/** Event in the stream DATA_USAGE on `dataUsageSubject`: bytes that a media pod received from cameras. */
export const dataUsageReported = defineEvent({
  subject: 'data-usage.*',
  schema: Type.Object({
    /** Time of the report, which decides the month. */
    atMs: Type.Integer({ minimum: 0 }),
    spans: Type.Array(usageSpan, { maxItems: maxUsageSpans }),
  }),
});

/** Payload of `dataUsageReported`. */
export type DataUsageReported = Static<typeof dataUsageReported.schema>;

/** Returns the subject of the reports of one media pod. */
export const dataUsageSubject = (podId: string): string => `data-usage.${podId}`;

/** Returns how the data budget of a device limits new streams at the moment; `imei` is the canonical number. */
export const findDataLimit = defineRequest({
  subject: 'platform-api.find-data-limit',
  request: Type.Object({ imei }),
  reply: Type.Object({
    /** Null without a limit: there is no budget, it is not spent, or it only notifies. */
    limit: Type.Union([Type.Literal('sub_stream'), Type.Literal('refuse'), Type.Null()]),
    /** Seconds until the budget of the next month. */
    retryAfterSeconds: Type.Integer({ minimum: 0 }),
  }),
});

/** What the budget of a vehicle does to streams once it is spent. */
const dataLimits = ['sub_stream', 'refuse'] as const;

/**
 * Event for every media pod: the data budget of a vehicle is spent, and limits its running streams. Published with each
 * report of received bytes, so that a lost event is repeated within seconds.
 */
export const dataBudgetSpent = defineEvent({
  subject: 'data-budget.spent',
  schema: Type.Object({
    imei,
    limit: Type.Unsafe<(typeof dataLimits)[number]>({ type: 'string', enum: [...dataLimits] }),
  }),
});

/** Payload of `dataBudgetSpent`. */
export type DataBudgetSpent = Static<typeof dataBudgetSpent.schema>;

/** Reply of `findDataLimit`. */
export type DataLimit = Static<typeof findDataLimit.reply>;
