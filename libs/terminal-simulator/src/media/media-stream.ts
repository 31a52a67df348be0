import type { CameraAddress } from './frame-sender.ts';
import { type MediaLink, type MediaTarget, openMediaLink } from './media-link.ts';
import { createStreamRecord, type StreamKind, type StreamRecord } from './stream-record.ts';

/** Options of all streams. */
export interface MediaStreamOptions {
  camera: CameraAddress;
  target: MediaTarget;
  /** Number of sent frames of each kind that the record retains. */
  frameLogLimit: number;
  /** `connectSilently` opens the connection and sends nothing; `neverConnect` does not open it. */
  media?: 'normal' | 'connectSilently' | 'neverConnect' | undefined;
  /** Called once when the stream has ended for any reason. */
  onEnd?: ((stream: MediaStream) => void) | undefined;
}

/** Manages one media connection of a camera: connects, paces, pauses and closes. The subclass decides what to send. */
export abstract class MediaStream {
  readonly record: StreamRecord;
  protected readonly camera: CameraAddress;
  protected readonly frameLogLimit: number;
  readonly #options: MediaStreamOptions;
  #link: MediaLink | null = null;
  #timer: NodeJS.Timeout | null = null;

  constructor(kind: StreamKind, options: MediaStreamOptions) {
    const { camera, target } = options;
    const port = target.tcpPort === 0 ? `udp:${target.udpPort}` : `tcp:${target.tcpPort}`;
    this.record = createStreamRecord(kind, camera.channel, `${target.host} ${port}`);
    this.camera = camera;
    this.frameLogLimit = options.frameLogLimit;
    this.#options = options;
  }

  /** Sends the first frames on a new connection. */
  protected abstract begin(link: MediaLink): void;
  /** Sends the due frames and schedules the next tick. */
  protected abstract tick(link: MediaLink): void;
  /** Restarts the clock after a pause. */
  protected abstract resumeClock(): void;

  /** Handles data of the server, which only talk uses. */
  protected receive(_chunk: Buffer): void {}

  /** Connects and starts sending; a failure ends the stream and is stored in its record. */
  async open(): Promise<void> {
    if (this.#options.media === 'neverConnect') return;
    try {
      const link = await openMediaLink(this.#options.target, {
        onEnd: (error) => this.#finish(error === null ? 'connectionLost' : `connectionLost: ${error.message}`),
        onData: (chunk) => this.receive(chunk),
      });
      if (this.#isEnded()) {
        link.close();
        return;
      }
      this.#link = link;
      this.record.protocol = link.protocol;
      this.record.state = 'streaming';
      if (this.#options.media !== 'connectSilently') this.begin(link);
    } catch (error) {
      this.#finish(`connectFailed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Sends nothing until `resume`; the connection stays open. */
  pause(): void {
    if (this.record.state !== 'streaming') return;
    this.record.state = 'paused';
    this.#clearTimer();
  }

  /** Continues with the next key frame. */
  resume(): void {
    if (this.record.state !== 'paused') return;
    this.record.state = 'streaming';
    this.resumeClock();
    this.schedule(0);
  }

  /** Ends the stream and closes its connection. */
  close(reason: string): void {
    const link = this.#link;
    this.#finish(reason);
    link?.close();
  }

  protected schedule(delayMs: number): void {
    this.#clearTimer();
    if (this.record.state !== 'streaming') return;
    this.#timer = setTimeout(() => this.#run(), Math.max(0, delayMs));
  }

  #run(): void {
    this.#timer = null;
    if (this.#link !== null && this.record.state === 'streaming') this.tick(this.#link);
  }

  #isEnded(): boolean {
    return this.record.state === 'ended';
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #finish(reason: string): void {
    if (this.#isEnded()) return;
    this.#clearTimer();
    this.#link = null;
    this.record.state = 'ended';
    this.record.endedAt = Date.now();
    this.record.endReason = reason;
    this.#options.onEnd?.(this);
  }
}
