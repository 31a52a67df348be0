import { type EnvSchema, findSecretFault, hourMs } from '@fleet/service-kit';

const durationMs = { type: 'integer', minimum: 1, maximum: hourMs } as const;
const text = { type: 'string', minLength: 1 } as const;

/** Settings of serving and storing clips. */
export const clipSettings = {
  CLIPS_SIGNING_SECRET: {
    type: 'string',
    default: 'development-clips-signing-secret',
    secret: true,
    minLength: 16,
    description:
      'key of the signatures in URLs of clips and files, the same in device-api and platform-api; several, separated by commas: all verify',
  },
  FFMPEG_PATH: { ...text, default: 'ffmpeg', description: 'path of ffmpeg, which converts clips to MP4' },
  MP4_PARALLEL: {
    type: 'integer',
    minimum: 1,
    maximum: 64,
    default: 2,
    description: 'limit on concurrent MP4 conversions, which never use the last core',
  },
  MP4_LIMIT_MS: { ...durationMs, default: 600_000, description: 'time limit of one ffmpeg run' },
  MP4_WAIT_MS: {
    ...durationMs,
    default: 85_000,
    description: 'how long a request waits for an MP4 conversion before it gets 503',
  },
  CLIPS_S3_BUCKET: {
    ...text,
    optional: true,
    description: 'bucket that completed clips and files are moved to; they stay in CLIPS_DIR if absent',
  },
  CLIPS_S3_ENDPOINT: {
    ...text,
    optional: true,
    pattern: '^https?://',
    description: 'URL of the S3-compatible server; AWS if absent',
  },
  CLIPS_S3_REGION: { ...text, default: 'us-east-1', description: 'region of the bucket' },
  CLIPS_S3_PREFIX: { type: 'string', default: 'clips/', description: 'prefix of every object key' },
  CLIPS_S3_ACCESS_KEY_ID: {
    ...text,
    optional: true,
    description: "access key; from the machine's role or the AWS variables if absent",
  },
  CLIPS_S3_SECRET_ACCESS_KEY: { ...text, optional: true, secret: true, description: 'secret of the access key' },
} as const satisfies EnvSchema;

interface Checked {
  readonly NODE_ENV: string;
  readonly CLIPS_SIGNING_SECRET: string;
  readonly CLIPS_S3_ACCESS_KEY_ID?: string | undefined;
  readonly CLIPS_S3_SECRET_ACCESS_KEY?: string | undefined;
}

/** Returns the faults of settings that depend on each other. */
export function clipSettingFaults(config: Checked): string[] {
  const faults: string[] = [];
  const { default: developmentSecret, minLength } = clipSettings.CLIPS_SIGNING_SECRET;
  const rules = { minLength, developmentSecret, isProduction: config.NODE_ENV === 'production' };
  const fault = findSecretFault('CLIPS_SIGNING_SECRET', config.CLIPS_SIGNING_SECRET, rules);
  if (fault !== undefined) faults.push(fault);
  if ((config.CLIPS_S3_ACCESS_KEY_ID === undefined) !== (config.CLIPS_S3_SECRET_ACCESS_KEY === undefined))
    faults.push('CLIPS_S3_ACCESS_KEY_ID and CLIPS_S3_SECRET_ACCESS_KEY must be set together');
  return faults;
}
