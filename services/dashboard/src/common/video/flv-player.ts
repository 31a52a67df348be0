import mpegts from 'mpegts.js';

// Errors arrive as events, and tiles show them.
mpegts.LoggingControl.enableAll = false;

/** Live streams chase the newest picture instead of playing everything. */
const liveConfig = {
  enableWorker: false,
  enableStashBuffer: false,
  isLive: true,
  liveBufferLatencyChasing: true,
  liveBufferLatencyMaxLatency: 1.5,
  liveBufferLatencyMinRemain: 0.3,
  autoCleanupSourceBuffer: true,
};

/** Recordings play every picture; the server waits for a full buffer. */
const recordingConfig = { ...liveConfig, liveBufferLatencyChasing: false };

const { MEDIA_CODEC_UNSUPPORTED, MEDIA_MSE_ERROR, NETWORK_STATUS_CODE_INVALID } = mpegts.ErrorDetails;

/** Details of an error: an HTTP status, or the code of a `DOMException`. */
interface ErrorInfo {
  readonly code?: number;
}

/** Returns whether the browser lacks a decoder for the stream. */
const isUndecodable = (detail: string, info?: ErrorInfo): boolean =>
  detail === MEDIA_CODEC_UNSUPPORTED || (detail === MEDIA_MSE_ERROR && info?.code === DOMException.NOT_SUPPORTED_ERR);

interface FlvPlayerOptions {
  readonly url: string;
  readonly isRecording?: boolean;
  /** The stream has ended, or its connection was lost. A refused request has an HTTP status. */
  readonly onEnd: (status: number | null) => void;
  /** The browser cannot decode the stream. */
  readonly onUndecodable: (detail: string) => void;
  /** Bytes since the last call, a few times a second. */
  readonly onData?: (sizeBytes: number) => void;
}

/** Returns whether the browser plays FLV by Media Source Extensions. */
export const canPlayFlv = (): boolean => mpegts.isSupported();

/** Returns whether the browser decodes H.265. */
export const canDecodeH265 = (): boolean =>
  typeof MediaSource !== 'undefined' && MediaSource.isTypeSupported('video/mp4; codecs="hvc1.1.6.L93.B0"');

/** Plays an FLV stream in a video element, muted or not as the element is. The only user of mpegts.js. */
export class FlvPlayer {
  readonly #player: mpegts.Player;
  #statisticsAtMs = performance.now();
  #isDestroyed = false;

  constructor(video: HTMLVideoElement, options: FlvPlayerOptions) {
    const { url, isRecording = false, onEnd, onUndecodable, onData } = options;
    const config = isRecording ? recordingConfig : liveConfig;
    const player = mpegts.createPlayer({ type: 'flv', isLive: true, url }, config);
    this.#player = player;
    player.on(mpegts.Events.ERROR, (_type: string, detail: string, info?: ErrorInfo) => {
      // Other media errors come from a damaged stream: a new connection plays again.
      if (isUndecodable(detail, info)) this.#report(() => onUndecodable(detail));
      else this.#report(() => onEnd(detail === NETWORK_STATUS_CODE_INVALID ? (info?.code ?? null) : null));
    });
    player.on(mpegts.Events.LOADING_COMPLETE, () => this.#report(() => onEnd(null)));
    player.on(mpegts.Events.STATISTICS_INFO, ({ speed }: { speed?: number }) => this.#countData(speed ?? 0, onData));
    player.attachMediaElement(video);
    player.load();
    // Browsers refuse to play with sound before a click; tiles start muted.
    Promise.resolve(player.play()).catch(() => undefined);
  }

  /** Releases the connection and the element. */
  destroy(): void {
    this.#isDestroyed = true;
    this.#player.pause();
    this.#player.unload();
    this.#player.detachMediaElement();
    this.#player.destroy();
  }

  // The player still uses its parts after an event, which the receiver may destroy.
  #report(notify: () => void): void {
    setTimeout(() => {
      if (!this.#isDestroyed) notify();
    });
  }

  // The player reports KiB a second.
  #countData(speedKib: number, onData: FlvPlayerOptions['onData']): void {
    const nowMs = performance.now();
    const seconds = (nowMs - this.#statisticsAtMs) / 1_000;
    this.#statisticsAtMs = nowMs;
    onData?.(Math.round(speedKib * 1_024 * seconds));
  }
}
