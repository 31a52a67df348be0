import { type ConfigOf, envSchema, minuteMs } from '@fleet/service-kit';

/** Settings of the attachment requests. */
export const attachmentSettings = envSchema({
  ATTACHMENTS_ENABLED: {
    type: 'boolean',
    default: true,
    description: 'requests the files that alarms of terminals count (T/JSATL 12)',
  },
  ATTACHMENT_TIMEOUT_HOURS: {
    formerName: 'ATTACHMENT_GIVE_UP_HOURS',
    type: 'integer',
    minimum: 1,
    maximum: 72,
    default: 24,
    description: 'hours after an alarm after which an offline terminal is no longer waited for',
  },
  ATTACHMENT_RETRY_MINUTES: {
    formerName: 'ATTACHMENT_AGAIN_MINUTES',
    type: 'string',
    default: '5,15,60',
    pattern: '^\\d{1,4}(,\\d{1,4}){0,9}$',
    description: 'minutes, separated by commas, between requests while files are missing',
  },
  ATTACHMENT_PARALLEL: {
    type: 'integer',
    minimum: 1,
    maximum: 16,
    default: 2,
    description: 'alarms of one terminal whose files are requested concurrently',
  },
  ATTACHMENT_LIFETIME_MINUTES: {
    type: 'integer',
    minimum: 1,
    maximum: 1_440,
    default: 60,
    description: 'minutes within which a terminal must send the files of an alarm, counted from the last request',
  },
});

/** Intervals and time-outs. */
export interface AttachmentTimings {
  readonly timeoutMs: number;
  /** Intervals between requests while files are missing. */
  readonly resendIntervalsMs: readonly number[];
  readonly lifetimeMs: number;
  readonly concurrency: number;
  /** Delay after a failed request: doubled each time, up to the longest. */
  readonly retryMs: number;
  readonly maxRetryMs: number;
  /** Shortest wait of another alarm of the terminal. */
  readonly slotRetryMs: number;
  /** Time after which the next alarm starts although files are missing. */
  readonly slotTtlMs: number;
  readonly pollMs: number;
}

/** Returns the times of the settings. */
export const toAttachmentTimings = (config: ConfigOf<typeof attachmentSettings>): AttachmentTimings => ({
  timeoutMs: config.ATTACHMENT_TIMEOUT_HOURS * 60 * minuteMs,
  resendIntervalsMs: config.ATTACHMENT_RETRY_MINUTES.split(',').map((minutes) => Number(minutes) * minuteMs),
  lifetimeMs: config.ATTACHMENT_LIFETIME_MINUTES * minuteMs,
  concurrency: config.ATTACHMENT_PARALLEL,
  retryMs: 30_000,
  maxRetryMs: 30 * minuteMs,
  slotRetryMs: 30_000,
  slotTtlMs: 5 * minuteMs,
  pollMs: 2_000,
});
