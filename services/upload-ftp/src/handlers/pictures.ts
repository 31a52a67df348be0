import { type Bus, eventSubject, RetryLater, readStoredEvent, StoredConsumer, type StoredMessage } from '@fleet/bus';
import { multimediaData } from '@fleet/jt808';
import { every, type Logger } from '@fleet/service-kit';
import { readPicture } from '../domain/picture.ts';
import { type MediaFiles, NoSpaceError } from '../media/media-files.ts';
import type { MediaMetrics } from '../metrics.ts';
import type { DiskCheck } from '../store/disk-check.ts';

/** Pictures may be as large as the broker takes them, and all that are under way are in memory. */
const maxInFlight = 4;
const noSpaceRetryMs = 10_000;
const roomCheckMs = 1_000;

export interface PictureParts {
  readonly media: Pick<MediaFiles, 'open' | 'keep'>;
  readonly disk: Pick<DiskCheck, 'obstacle'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/**
 * Reads every 0x0801 that the gateways have stored; each is acknowledged once its file is kept. Without room they wait in the stream, and are left to
 * other pods: what a full one took would count against what all of them may have under way.
 */
export class Pictures {
  readonly #bus: Bus;
  readonly #parts: PictureParts;
  readonly #stopLooking: () => Promise<void>;
  #reading: StoredConsumer | null;
  #paused: Promise<void> = Promise.resolve();

  /** Begins to read at once. */
  constructor(bus: Bus, parts: PictureParts) {
    this.#bus = bus;
    this.#parts = parts;
    this.#reading = this.#read();
    const onError = (error: unknown): void => parts.log.warn({ err: error }, 'the room for pictures is not known');
    this.#stopLooking = every(roomCheckMs, () => this.#resume(), onError);
  }

  /** Takes no more and waits for what is under way. */
  async stop(): Promise<void> {
    await this.#stopLooking();
    await this.#reading?.stop();
    await this.#paused;
  }

  #read(): StoredConsumer {
    return new StoredConsumer(this.#bus, {
      stream: 'EVENTS',
      durable: 'upload-pictures',
      subject: eventSubject('*', multimediaData.id),
      maxInFlight,
      onError: (error) => this.#parts.log.warn({ err: error }, 'a picture could not be kept yet'),
      handler: (message) => this.#keep(message),
    });
  }

  async #keep(message: StoredMessage): Promise<void> {
    try {
      await keepPicture(this.#parts, message);
    } catch (error) {
      if (!(error instanceof NoSpaceError)) throw error;
      this.#parts.metrics.picturesWaiting.inc();
      this.#pause();
      throw new RetryLater(noSpaceRetryMs);
    }
  }

  #pause(): void {
    if (this.#reading === null) return;
    this.#parts.log.warn('no more pictures are taken until there is room for them');
    // Not awaited: it waits for the handlers, one of which calls this.
    this.#paused = this.#reading.stop();
    this.#reading = null;
  }

  async #resume(): Promise<void> {
    if (this.#reading !== null || (await this.#parts.disk.obstacle()) !== null) return;
    await this.#paused;
    this.#reading = this.#read();
  }
}

async function keepPicture({ media, metrics, log }: PictureParts, message: StoredMessage): Promise<void> {
  const event = readStoredEvent(message);
  const picture = readPicture(event);
  if (typeof picture === 'string') {
    // It will never be another one.
    metrics.picturesDropped.inc({ reason: picture });
    return log.warn({ imei: event.imei, sequence: message.sequence }, `a picture is ${picture}`);
  }
  const file = await media.open(event.imei);
  try {
    await file.write(picture.data, 0);
  } catch (error) {
    await file.discard();
    throw error;
  }
  const { fileId, mimeType, sizeBytes } = await media.keep(file, picture.about);
  log.debug({ imei: event.imei, fileId, mimeType, sizeBytes }, 'a picture is kept');
}
