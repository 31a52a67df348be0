import { randomBytes } from 'node:crypto';
import { headers, type MediaStored, mediaStoredSubject } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

/** Returns the event of upload-ftp for a stored picture. */
export const storedPicture = (imei: string, server: string, more: Partial<MediaStored> = {}): MediaStored => ({
  fileId: randomBytes(12).toString('hex'),
  imei,
  server,
  kind: 'image',
  mimeType: 'image/jpeg',
  sizeBytes: 1000,
  channel: 2,
  source: 'capture',
  multimediaId: 77,
  takenAt: null,
  receivedAtMs: Date.now(),
  place: null,
  attachment: null,
  ...more,
});

/** Publishes the event to MEDIA; `again` bypasses the broker's deduplication. */
export async function publishMediaStored(
  { bus }: Pick<Deps, 'bus'>,
  stored: MediaStored,
  { again = false }: { again?: boolean } = {},
): Promise<void> {
  const head = headers();
  head.set('Nats-Msg-Id', again ? randomBytes(8).toString('hex') : stored.fileId);
  await bus.js.publish(mediaStoredSubject(stored.imei), JSON.stringify(stored), { headers: head });
}
