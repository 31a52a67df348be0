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

/** Pictures may be as large as the broker allows, and all pictures being processed are in memory. */
const maxInFlight = 4;
const noSpaceRetryMs = 10_000;
const spacePollIntervalMs = 1_000;

interface PictureDeps {
  readonly media: Pick<MediaFiles, 'open' | 'store'>;
  readonly disk: Pick<DiskHealth, 'findError'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

/**
 * Reads every 0x0801 that the gateways have stored and acknowledges each once its file is stored. Without disk space,
 * pictures wait in the stream for other pods. This pod then stops consuming, because its unacknowledged messages count
 * against the limit shared by all pods.
 */
export class PictureConsumer {
  readonly #bus: Bus;
  readonly #deps: PictureDeps;
  readonly #stopPolling: () => Promise<void>;
  #consumer: DurableConsumer | null;
  #paused: Promise<void> = Promise.resolve();

  /** Starts to consume immediately. */
  constructor(bus: Bus, deps: PictureDeps) {
    this.#bus = bus;
    this.#deps = deps;
    this.#consumer = this.#startConsumer();
    const onError = (error: unknown): void => deps.log.warn({ err: error }, 'could not check the space for pictures');
    this.#stopPolling = runPeriodically(spacePollIntervalMs, () => this.#resume(), onError);
  }

  /** Stops consuming and waits for pictures being processed. */
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
      onError: (error) => this.#deps.log.warn({ err: error }, 'could not store a picture, retrying'),
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
    this.#deps.log.warn('stopped reading pictures until there is disk space');
    // Not awaited: stopping waits for the handlers, and one of them calls this.
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
    // A retry would not change the content.
    metrics.picturesDropped.inc({ reason: picture });
    return log.warn({ imei: event.imei, sequence: message.sequence, reason: picture }, 'discarded a picture');
  }
  const file = await media.open(event.imei);
  try {
    await file.write(picture.data, 0);
  } catch (error) {
    await file.discard();
    throw error;
  }
  const { fileId, mimeType, sizeBytes } = await media.store(file, picture.metadata);
  log.debug({ imei: event.imei, fileId, mimeType, sizeBytes }, 'stored a picture');
}
