import type { EnvSchema } from '@fleet/service-kit';

const durationMs = { type: 'integer', minimum: 1, maximum: 3_600_000 } as const;
const text = { type: 'string', minLength: 1 } as const;

/** Settings of handing out clips, and of where they are stored. */
export const clipSettings = {
  CLIPS_SIGNING_SECRET: {
    type: 'string',
    default: 'development-clips-signing-secret',
    secret: true,
    minLength: 16,
    description: 'key of the signatures in URLs of clips and files, the same in device-api and platform-api',
  },
  FFMPEG_PATH: { ...text, default: 'ffmpeg', description: 'ffmpeg, for the MP4 of a clip' },
  MP4_PARALLEL: { type: 'integer', minimum: 1, maximum: 64, default: 2, description: 'MP4s that are made at a time' },
  MP4_LIMIT_MS: { ...durationMs, default: 600_000, description: 'one run of ffmpeg; then it is killed' },
  MP4_WAIT_MS: {
    ...durationMs,
    default: 85_000,
    description: 'wait of a caller for an MP4 that is being made; then 503',
  },
  CLIPS_S3_BUCKET: {
    ...text,
    optional: true,
    description: 'bucket that completed clips and files are moved to; they stay in CLIPS_DIR when absent',
  },
  CLIPS_S3_ENDPOINT: {
    ...text,
    optional: true,
    pattern: '^https?://',
    description: 'S3-compatible server; AWS when absent',
  },
  CLIPS_S3_REGION: { ...text, default: 'us-east-1', description: 'region of the bucket' },
  CLIPS_S3_PREFIX: { type: 'string', default: 'clips/', description: 'before the key of each object' },
  CLIPS_S3_ACCESS_KEY_ID: {
    ...text,
    optional: true,
    description: "access key; what the machine's role or the AWS variables give when absent",
  },
  CLIPS_S3_SECRET_ACCESS_KEY: { ...text, optional: true, secret: true, description: 'secret of the access key' },
} as const satisfies EnvSchema;

interface Checked {
  readonly NODE_ENV: string;
  readonly CLIPS_SIGNING_SECRET: string;
  readonly CLIPS_S3_ACCESS_KEY_ID?: string | undefined;
  readonly CLIPS_S3_SECRET_ACCESS_KEY?: string | undefined;
}

/** What is wrong with these settings taken together. */
export function clipSettingFaults(config: Checked): string[] {
  const faults: string[] = [];
  if (config.NODE_ENV === 'production' && config.CLIPS_SIGNING_SECRET === clipSettings.CLIPS_SIGNING_SECRET.default)
    faults.push('CLIPS_SIGNING_SECRET has its development value: set one of your own');
  if ((config.CLIPS_S3_ACCESS_KEY_ID === undefined) !== (config.CLIPS_S3_SECRET_ACCESS_KEY === undefined))
    faults.push('CLIPS_S3_ACCESS_KEY_ID and CLIPS_S3_SECRET_ACCESS_KEY need each other');
  return faults;
}
