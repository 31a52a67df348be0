import type { EnvSchema } from '@fleet/service-kit';

/** Settings of thumbnails. */
export const previewSettings = {
  THUMBNAILS_PARALLEL: {
    type: 'integer',
    minimum: 1,
    maximum: 64,
    default: 2,
    description: 'limit on concurrent thumbnails; others wait',
  },
} as const satisfies EnvSchema;
