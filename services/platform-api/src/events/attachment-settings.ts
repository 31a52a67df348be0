import { type ConfigOf, envSchema } from '@fleet/service-kit';

/** Settings of the asking for attachments of alarms. */
export const attachmentSettings = envSchema({
  ATTACHMENTS_ENABLED: {
    type: 'boolean',
    default: true,
    description: 'asks terminals for the files that their alarms count (T/JSATL 12)',
  },
  ATTACHMENT_GIVE_UP_HOURS: {
    type: 'integer',
    minimum: 1,
    maximum: 72,
    default: 24,
    description: 'hours after an alarm for which a terminal that is away is waited for',
  },
  ATTACHMENT_AGAIN_MINUTES: {
    type: 'string',
    default: '5,15,60',
    pattern: '^\\d{1,4}(,\\d{1,4}){0,9}$',
    description: 'minutes, separated by commas, after which a terminal is asked again for files that have not all come',
  },
  ATTACHMENT_PARALLEL: {
    type: 'integer',
    minimum: 1,
    maximum: 16,
    default: 2,
    description: 'alarms of one terminal whose files it is asked for at a time',
  },
  ATTACHMENT_LIFETIME_MINUTES: {
    type: 'integer',
    minimum: 1,
    maximum: 1_440,
    default: 60,
    description: 'minutes that a terminal may take to send the files of an alarm, from when it was last asked',
  },
});

/** How long and how often. */
export interface AttachmentTimes {
  readonly giveUpMs: number;
  /** From one ask to the next, while files are missing. */
  readonly againMs: readonly number[];
  readonly lifetimeMs: number;
  readonly parallel: number;
  /** A terminal that could not be asked: doubled each time, up to the longest. */
  readonly retryMs: number;
  readonly longestRetryMs: number;
  /** How long another alarm of the terminal waits for its turn at least. */
  readonly turnMs: number;
  /** After this time the next alarm has its turn although files are missing. */
  readonly longestTurnMs: number;
  readonly pollMs: number;
}

const minuteMs = 60_000;

/** The times that the settings say. */
export const attachmentTimes = (config: ConfigOf<typeof attachmentSettings>): AttachmentTimes => ({
  giveUpMs: config.ATTACHMENT_GIVE_UP_HOURS * 60 * minuteMs,
  againMs: config.ATTACHMENT_AGAIN_MINUTES.split(',').map((minutes) => Number(minutes) * minuteMs),
  lifetimeMs: config.ATTACHMENT_LIFETIME_MINUTES * minuteMs,
  parallel: config.ATTACHMENT_PARALLEL,
  retryMs: 30_000,
  longestRetryMs: 30 * minuteMs,
  turnMs: 30_000,
  longestTurnMs: 5 * minuteMs,
  pollMs: 2_000,
});
