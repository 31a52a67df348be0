import { ConfigError, type ConfigOf, envSchema, findSecretFault } from '@fleet/service-kit';

/** Settings of the storage of pictures, attachments and clips (docs/reference/video.md). */
export const mediaSettings = envSchema({
  MEDIA_MAX_BYTES_PER_VEHICLE: {
    type: 'integer',
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    default: 5 * 1024 ** 3,
    description: 'largest size of the pictures and videos of a vehicle in bytes; the oldest are removed first',
  },
  MEDIA_TTL_DAYS: {
    type: 'integer',
    minimum: 1,
    maximum: 36_500,
    default: 90,
    description: 'retention of pictures and videos in days, unless the account sets `retention.media_days`',
  },
  MEDIA_NEARLY_FULL_PERCENT: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 90,
    description: 'percentage of the storage limit of a vehicle at which `storage_quota` is raised',
  },
  CLIPS_SIGNING_SECRET: {
    type: 'string',
    default: 'development-clips-signing-secret',
    secret: true,
    minLength: 16,
    description:
      'signs URLs of pictures and videos; the same in upload-ftp and device-api; several, separated by commas: the first signs, all verify',
  },
});

/** Throws in production if the signing secret is the published default. */
export function checkMediaSettings(config: ConfigOf<typeof mediaSettings> & { readonly NODE_ENV: string }): void {
  const { default: developmentSecret, minLength } = mediaSettings.CLIPS_SIGNING_SECRET;
  const rules = { minLength, developmentSecret, isProduction: config.NODE_ENV === 'production' };
  const fault = findSecretFault('CLIPS_SIGNING_SECRET', config.CLIPS_SIGNING_SECRET, rules);
  if (fault !== undefined) throw new ConfigError(fault);
}
