import type { ConfigOf } from '@fleet/service-kit';
import type { clipSettings } from '../clips/settings.ts';
import type { ObjectStore } from './object-store.ts';

/**
 * Opens the configured object storage; returns null if files stay in the directory. The S3 client is loaded only if a
 * bucket is configured.
 */
export async function openObjectStore(config: ConfigOf<typeof clipSettings>): Promise<ObjectStore | null> {
  const { CLIPS_S3_BUCKET: bucket, CLIPS_S3_ACCESS_KEY_ID: accessKeyId } = config;
  const secretAccessKey = config.CLIPS_S3_SECRET_ACCESS_KEY;
  if (bucket === undefined) return null;
  const { ObjectStore } = await import('./object-store.ts');
  return new ObjectStore({
    endpoint: config.CLIPS_S3_ENDPOINT,
    region: config.CLIPS_S3_REGION,
    bucket,
    prefix: config.CLIPS_S3_PREFIX,
    credentials:
      accessKeyId === undefined || secretAccessKey === undefined ? undefined : { accessKeyId, secretAccessKey },
  });
}
