import { streamUsageKinds } from '@fleet/bus';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId } from '../../platform/schemas.ts';

/** Ways in which a device sends data: streams by channel, pictures, and uploaded files. */
export type UsageKind = (typeof streamUsageKinds)[number] | 'picture' | 'upload';

/**
 * Bytes of one stream or file in one month; `_id` is `<vehicle>:<month>:<session>`. Repeated and late reports only
 * widen the span, so that bytes count once.
 */
export interface UsageRecord {
  readonly _id: string;
  readonly accountId: number;
  readonly vehicleId: number;
  /** `YYYY-MM` in the vehicle's time zone. */
  readonly month: string;
  readonly kind: UsageKind;
  readonly channelId: number;
  /** Counter of the session at the begin of the month. */
  readonly fromBytes: number;
  readonly toBytes: number;
}

/** A notification about a data budget, once per vehicle, month and percentage. */
export interface BudgetNotice {
  readonly _id: string;
  readonly accountId: number;
  readonly vehicleId: number;
  readonly month: string;
  /** Time of the notification, chosen once. */
  readonly atMs: number;
  readonly isNotified: boolean;
}

const byteCount = (description: string) => Type.Integer({ minimum: 0, description });

export const dataUsageResponseSchema = Type.Object(
  {
    vehicle_id: recordId,
    month: Type.String({ description: 'YYYY-MM, in the time zone of the vehicle.', examples: ['2026-11'] }),
    bytes: byteCount('Received over JT/T 1078, headers included: live video, playback and talk.'),
    picture_bytes: byteCount('Pictures that the terminal sent.'),
    upload_bytes: byteCount('Uploaded clips and files of alarms.'),
    channels: Type.Array(
      Type.Object({
        channel_id: Type.Integer({ minimum: 0 }),
        kind: stringEnum(streamUsageKinds),
        bytes: byteCount('The part of `bytes`.'),
      }),
    ),
    budget: nullable(
      Type.Object({
        bytes: byteCount('Of each month, for all kinds of data.'),
        used_percent: Type.Integer({ minimum: 0 }),
        over_budget: stringEnum(['notify', 'sub_stream', 'refuse']),
      }),
    ),
  },
  { title: 'DataUsage' },
);
export type DataUsageResponse = Static<typeof dataUsageResponseSchema>;

export const dataUsageQuery = Type.Object({
  month: Type.Optional(
    Type.String({
      pattern: '^20\\d{2}-(0[1-9]|1[0-2])$',
      errorMessage: 'must be a month such as 2026-11',
      description: 'YYYY-MM; by default this month in the time zone of the vehicle.',
    }),
  ),
});
