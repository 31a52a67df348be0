import { ApiFailure, type components, type PlatformClient } from '@fleet/api-client';
import mpegts from 'mpegts.js';

type Stream = components['schemas']['Stream'];
export type StreamType = 'LOW' | 'HIGH';

/** What a tile shows, and why. */
export type VideoState =
  | { readonly kind: 'starting'; readonly sinceMs: number }
  | { readonly kind: 'playing'; readonly stream: Stream }
  | { readonly kind: 'stalled'; readonly sinceMs: number }
  | { readonly kind: 'retrying'; readonly attempt: number }
  | { readonly kind: 'failed'; readonly reason: VideoFailure; readonly message: string }
  | { readonly kind: 'stopped' };

type VideoFailure = 'offline' | 'asleep' | 'refused' | 'busy' | 'limit' | 'forbidden' | 'unsupported' | 'lost';

const stallMs = 4_000;
const checkIntervalMs = 1_000;
const maxRetries = 5;
const retryDelayMs = 2_000;

/** Live streams chase the newest picture instead of playing everything. */
const playerConfig = {
  enableWorker: false,
  enableStashBuffer: false,
  isLive: true,
  liveBufferLatencyChasing: true,
  liveBufferLatencyMaxLatency: 1.5,
  liveBufferLatencyMinRemain: 0.3,
  autoCleanupSourceBuffer: true,
};

/** Returns the reason for a failed start, from the error of the API. */
function readFailure(error: unknown): VideoFailure {
  if (!(error instanceof ApiFailure)) return 'lost';
  if (error.code === 'device_not_connected') return 'offline';
  if (error.code === 'device_timeout') return 'asleep';
  if (error.code === 'quota_exceeded' || error.status === 429) return 'limit';
  if (error.status === 403) return 'forbidden';
  if (error.status === 409) return 'busy';
  return error.status === 502 ? 'refused' : 'lost';
}

interface SessionOptions {
  readonly api: PlatformClient;
  readonly vehicleId: number;
  readonly channelId: number;
  readonly streamType: StreamType;
  readonly onState: (state: VideoState) => void;
}

/**
 * Plays one camera in a video element: starts the stream, watches for stalls, and reconnects. The only user of
 * mpegts.js.
 */
export class VideoSession {
  readonly #options: SessionOptions;
  readonly #video: HTMLVideoElement;
  #player: mpegts.Player | null = null;
  #retries = 0;
  #lastTime = 0;
  #lastProgressMs = 0;
  #state: VideoState = { kind: 'stopped' };
  #stream: Stream | null = null;
  #watch: ReturnType<typeof setInterval> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(video: HTMLVideoElement, options: SessionOptions) {
    this.#video = video;
    this.#options = options;
  }

  /** Starts the stream and plays it muted. Failures become states. */
  async start(): Promise<void> {
    this.#setState({ kind: 'starting', sinceMs: Date.now() });
    try {
      const { vehicleId, channelId, streamType } = this.#options;
      const { data } = await this.#options.api.POST('/api/vehicles/start-dashcam-stream/{vehicleId}', {
        params: { path: { vehicleId } },
        body: { channel_id: channelId, stream_type: streamType },
      });
      if (this.#isClosed) return;
      if (data === undefined) throw new Error('The server returned no stream.');
      this.#play(data.data);
    } catch (error) {
      if (!this.#isClosed) this.#fail(readFailure(error), error instanceof Error ? error.message : String(error));
    }
  }

  /** Stops the player and releases its connection. The camera stops without viewers. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retryTimer);
    this.#destroyPlayer();
    this.#setState({ kind: 'stopped' });
  }

  #play(stream: Stream): void {
    if (!mpegts.isSupported()) return this.#fail('unsupported', '');
    this.#stream = stream;
    this.#destroyPlayer();
    const url = stream.ws_flv_url ?? stream.stream_url;
    const player = mpegts.createPlayer({ type: 'flv', isLive: true, url }, playerConfig);
    this.#player = player;
    player.on(mpegts.Events.ERROR, (type: string, detail: string) => this.#onPlayerError(type, detail));
    player.on(mpegts.Events.LOADING_COMPLETE, () => this.#retry());
    player.attachMediaElement(this.#video);
    player.load();
    // Browsers refuse to play with sound before a click; the tile starts muted.
    Promise.resolve(player.play()).catch(() => undefined);
    this.#lastTime = this.#video.currentTime;
    this.#lastProgressMs = Date.now();
    this.#watch = setInterval(() => this.#checkProgress(), checkIntervalMs);
  }

  #checkProgress(): void {
    const now = Date.now();
    if (this.#video.currentTime !== this.#lastTime) {
      this.#lastTime = this.#video.currentTime;
      this.#lastProgressMs = now;
      this.#retries = 0;
      if (this.#state.kind !== 'playing' && this.#stream !== null)
        this.#setState({ kind: 'playing', stream: this.#stream });
    } else if (now - this.#lastProgressMs > stallMs && this.#state.kind === 'playing') {
      this.#setState({ kind: 'stalled', sinceMs: this.#lastProgressMs });
    }
  }

  #onPlayerError(type: string, detail: string): void {
    if (type === mpegts.ErrorTypes.MEDIA_ERROR) this.#fail('unsupported', detail);
    else this.#retry();
  }

  #retry(): void {
    if (this.#isClosed) return;
    this.#destroyPlayer();
    if (this.#retries >= maxRetries) return this.#fail('lost', '');
    this.#retries += 1;
    this.#setState({ kind: 'retrying', attempt: this.#retries });
    this.#retryTimer = setTimeout(() => void this.start(), retryDelayMs);
  }

  #fail(reason: VideoFailure, message: string): void {
    this.#destroyPlayer();
    this.#setState({ kind: 'failed', reason, message });
  }

  #destroyPlayer(): void {
    clearInterval(this.#watch);
    const player = this.#player;
    this.#player = null;
    if (player === null) return;
    player.pause();
    player.unload();
    player.detachMediaElement();
    player.destroy();
  }

  #setState(state: VideoState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}
