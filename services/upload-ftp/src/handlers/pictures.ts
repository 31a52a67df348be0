import { type Bus, eventSubject, RetryLater, readStoredEvent, StoredConsumer, type StoredMessage } from '@fleet/bus';
import { multimediaData } from '@fleet/jt808';
import type { Logger } from '@fleet/service-kit';
import { readPicture } from '../domain/picture.ts';
import { type MediaFiles, NoSpaceError } from '../media/media-files.ts';
import type { MediaMetrics } from '../metrics.ts';

/** Pictures may be as large as the broker takes them, and all that are under way are in memory. */
const maxInFlight = 4;
const noSpaceRetryMs = 10_000;

export interface PictureParts {
  readonly media: MediaFiles;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/** Reads every 0x0801 that the gateways have stored; each is acknowledged once its file is kept. Without room they wait in the stream. */
export function consumePictures(bus: Bus, parts: PictureParts): StoredConsumer {
  return new StoredConsumer(bus, {
    stream: 'EVENTS',
    durable: 'upload-pictures',
    subject: eventSubject('*', multimediaData.id),
    maxInFlight,
    onError: (error) => parts.log.warn({ err: error }, 'a picture could not be kept yet'),
    handler: (message) => keepPicture(parts, message),
  });
}

async function keepPicture({ media, metrics, log }: PictureParts, message: StoredMessage): Promise<void> {
  const event = readStoredEvent(message);
  const picture = readPicture(event);
  if (typeof picture === 'string') {
    // It will never be another one.
    metrics.picturesDropped.inc({ reason: picture });
    return log.warn({ imei: event.imei, sequence: message.sequence }, `a picture is ${picture}`);
  }
  try {
    const file = await media.open(event.imei);
    try {
      await file.write(picture.data, 0);
    } catch (error) {
      await file.discard();
      throw error;
    }
    const { fileId, mimeType, sizeBytes } = await media.keep(file, picture.about);
    log.debug({ imei: event.imei, fileId, mimeType, sizeBytes }, 'a picture is kept');
  } catch (error) {
    if (!(error instanceof NoSpaceError)) throw error;
    metrics.picturesWaiting.inc();
    throw new RetryLater(noSpaceRetryMs);
  }
}
