import type { EnvSchema } from '@fleet/service-kit';

/** Settings of recording live video. */
export const liveSettings = {
  MEDIA_SIGNING_SECRET: {
    type: 'string',
    default: 'development-media-signing-secret',
    secret: true,
    minLength: 16,
    description:
      'signs URLs of live video that is recorded; the same in jt1078-media and device-api; of several, separated by commas, the first signs',
  },
  LIVE_RECORDINGS_PARALLEL: {
    type: 'integer',
    minimum: 1,
    maximum: 64,
    default: 8,
    description: 'limit on concurrent recordings of live video',
  },
} as const satisfies EnvSchema;
