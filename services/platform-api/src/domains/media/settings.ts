import { ConfigError, type ConfigOf, envSchema } from '@fleet/service-kit';

/** Storage of pictures, attachments and clips (docs/reference/video.md). */
export const mediaSettings = envSchema({
  MEDIA_MAX_BYTES_PER_VEHICLE: {
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 5 * 1024 ** 3,
    description: 'bytes of pictures and videos that a vehicle may have; the oldest go first',
  },
  MEDIA_TTL_DAYS: {
    type: 'integer',
    minimum: 1,
    maximum: 36_500,
    default: 90,
    description: 'days for which they are kept, where the account does not say otherwise (`retention.media_days`)',
  },
  MEDIA_NEARLY_FULL_PERCENT: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 90,
    description: 'part of the bytes of a vehicle at which `storage_quota` is raised',
  },
  CLIPS_SIGNING_SECRET: {
    type: 'string',
    default: 'development-clips-signing-secret',
    secret: true,
    minLength: 16,
    description: 'signs URLs of pictures and videos; the same in upload-ftp and device-api',
  },
});

/** Production does not start with a secret that everybody knows. */
export function checkMediaSettings(config: ConfigOf<typeof mediaSettings> & { readonly NODE_ENV: string }): void {
  const { default: known } = mediaSettings.CLIPS_SIGNING_SECRET;
  if (config.NODE_ENV === 'production' && config.CLIPS_SIGNING_SECRET === known)
    throw new ConfigError('CLIPS_SIGNING_SECRET has its development value: set one of your own.');
}
