import {
  type Bus,
  DurableConsumer,
  eventSubject,
  type JetStreamMessage,
  parseTerminalEvent,
  RetryLater,
} from '@fleet/bus';
import { multimediaData } from '@fleet/jt808';
import { type Logger, runPeriodically } from '@fleet/service-kit';
import { parsePicture } from '../domain/picture.ts';
import { type MediaFiles, NoSpaceError } from '../media/media-files.ts';
import type { MediaMetrics } from '../metrics.ts';
import type { DiskHealth } from '../store/disk-health.ts';

/** Pictures may be as large as the broker takes them, and all that are under way are in memory. */
const maxInFlight = 4;
const noSpaceRetryMs = 10_000;
const spacePollIntervalMs = 1_000;

export interface PictureDeps {
  readonly media: Pick<MediaFiles, 'open' | 'store'>;
  readonly disk: Pick<DiskHealth, 'findError'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/**
 * Reads every 0x0801 that the gateways have stored; each is acknowledged once its file is kept. Without room they wait in the stream, and are left to
 * other pods: what a full one took would count against what all of them may have under way.
 */
export class PictureConsumer {
  readonly #bus: Bus;
  readonly #deps: PictureDeps;
  readonly #stopPolling: () => Promise<void>;
  #consumer: DurableConsumer | null;
  #paused: Promise<void> = Promise.resolve();

  /** Begins to read at once. */
  constructor(bus: Bus, deps: PictureDeps) {
    this.#bus = bus;
    this.#deps = deps;
    this.#consumer = this.#startConsumer();
    const onError = (error: unknown): void => deps.log.warn({ err: error }, 'the room for pictures is not known');
    this.#stopPolling = runPeriodically(spacePollIntervalMs, () => this.#resume(), onError);
  }

  /** Takes no more and waits for what is under way. */
  async stop(): Promise<void> {
    await this.#stopPolling();
    await this.#consumer?.stop();
    await this.#paused;
  }

  #startConsumer(): DurableConsumer {
    return new DurableConsumer(this.#bus, {
      stream: 'EVENTS',
      durable: 'upload-pictures',
      subject: eventSubject('*', multimediaData.id),
      maxInFlight,
      onError: (error) => this.#deps.log.warn({ err: error }, 'a picture could not be kept yet'),
      handler: (message) => this.#handle(message),
    });
  }

  async #handle(message: JetStreamMessage): Promise<void> {
    try {
      await storePicture(this.#deps, message);
    } catch (error) {
      if (!(error instanceof NoSpaceError)) throw error;
      this.#deps.metrics.picturesWaiting.inc();
      this.#pause();
      throw new RetryLater(noSpaceRetryMs);
    }
  }

  #pause(): void {
    if (this.#consumer === null) return;
    this.#deps.log.warn('no more pictures are taken until there is room for them');
    // Not awaited: it waits for the handlers, one of which calls this.
    this.#paused = this.#consumer.stop();
    this.#consumer = null;
  }

  async #resume(): Promise<void> {
    if (this.#consumer !== null || (await this.#deps.disk.findError()) !== null) return;
    await this.#paused;
    this.#consumer = this.#startConsumer();
  }
}

async function storePicture({ media, metrics, log }: PictureDeps, message: JetStreamMessage): Promise<void> {
  const event = parseTerminalEvent(message);
  const picture = parsePicture(event);
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
  const { fileId, mimeType, sizeBytes } = await media.store(file, picture.metadata);
  log.debug({ imei: event.imei, fileId, mimeType, sizeBytes }, 'a picture is kept');
}
