import { ApiFailure } from '@fleet/api-client';
import type { FlvPlayer } from '../../common/video/flv-player.ts';
import type { SharedStream, StreamChange } from './shared-view.ts';
import { toEndFault, toVideoFault, type VideoFault } from './video-fault.ts';

/** What the video of a guest shows, and why. */
export type GuestVideoState =
  | { readonly kind: 'connecting'; readonly sinceMs: number }
  | { readonly kind: 'playing' }
  | { readonly kind: 'stalled' }
  | { readonly kind: 'retrying'; readonly attempt: number }
  | { readonly kind: 'failed'; readonly fault: VideoFault }
  /** Stopped to save data; the guest can resume it. */
  | { readonly kind: 'parked'; readonly reason: 'hidden' | 'idle' };

export const maxRetries = 5;
const retryDelayMs = 2_000;
const checkIntervalMs = 1_000;
const stallMs = 4_000;
interface GuestVideoOptions {
  /** Returns new addresses of the camera. */
  readonly openStream: () => Promise<SharedStream>;
  readonly onState: (state: GuestVideoState) => void;
}

/** Plays a shared camera in a video element: FLV by Media Source Extensions, or HLS where the browser plays it itself. */
export class GuestVideo {
  readonly #video: HTMLVideoElement;
  readonly #options: GuestVideoOptions;
  #player: FlvPlayer | null = null;
  /** Changes with each start and stop: late results of an earlier one are dropped. */
  #run = 0;
  #retries = 0;
  #hasPlayed = false;
  #lastTime = 0;
  #lastProgressMs = 0;
  #watch: ReturnType<typeof setInterval> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;
  #isStopped = true;
  #state: GuestVideoState | null = null;

  constructor(video: HTMLVideoElement, options: GuestVideoOptions) {
    this.#video = video;
    this.#options = options;
  }

  /** Starts the camera. Opening its address is the request. */
  start(): void {
    this.#retries = 0;
    this.#hasPlayed = false;
    this.#setState({ kind: 'connecting', sinceMs: Date.now() });
    void this.#open();
  }

  park(reason: 'hidden' | 'idle'): void {
    if (this.#isStopped) return;
    this.stop();
    this.#setState({ kind: 'parked', reason });
  }

  /** Continues after the page was hidden. */
  unpark(): void {
    if (this.#state?.kind === 'parked' && this.#state.reason === 'hidden') this.start();
  }

  /** Handles a change of the camera's stream: the owner stopped it, or the data budget is spent. */
  onStreamChange(change: StreamChange): void {
    this.#noteProgress();
    const fault = this.#hasPlayed && !this.#isStopped ? toEndFault(change) : null;
    if (fault !== null) this.#fail(fault);
  }

  /** Ends the stream and releases its connection. */
  stop(): void {
    this.#isStopped = true;
    this.#release();
  }

  async #open(): Promise<void> {
    this.#release();
    this.#isStopped = false;
    const run = this.#run;
    try {
      const stream = await this.#options.openStream();
      const { FlvPlayer: Player, canDecodeH265, canPlayFlv } = await import('../../common/video/flv-player.ts');
      if (run !== this.#run) return;
      const isFlv = canPlayFlv() && (stream.video_codec !== 'h265' || canDecodeH265());
      if (isFlv) this.#playFlv(Player, stream.stream_url);
      else if (stream.hls_url !== null && canPlayHls(this.#video)) this.#playHls(stream.hls_url);
      else return this.#fail('unsupported');
      this.#lastTime = this.#video.currentTime;
      this.#lastProgressMs = Date.now();
      this.#watch = setInterval(() => this.#checkProgress(), checkIntervalMs);
    } catch (error) {
      if (run !== this.#run) return;
      const failure = error instanceof ApiFailure ? error : null;
      this.#onEnd(failure === null || failure.status === 0 ? null : failure.status, failure?.code);
    }
  }

  #playFlv(Player: typeof FlvPlayer, url: string): void {
    const run = this.#run;
    this.#player = new Player(this.#video, {
      url,
      onEnd: (status) => {
        if (run === this.#run) void this.#onStreamEnd(url, status);
      },
      onUndecodable: () => {
        if (run === this.#run) this.#fail('unsupported');
      },
    });
  }

  #playHls(url: string): void {
    const run = this.#run;
    const onEnd = (): void => {
      if (run === this.#run) this.#onEnd(null);
    };
    this.#video.onerror = onEnd;
    this.#video.onended = onEnd;
    this.#video.src = url;
    // The element shows its own button if the browser refuses to play.
    this.#video.play().catch(() => undefined);
  }

  /** The player knows only the status: the budget and too many viewers have the same one. */
  async #onStreamEnd(url: string, status: number | null): Promise<void> {
    const run = this.#run;
    const code = status === 429 ? await readErrorCode(url) : undefined;
    if (run === this.#run) this.#onEnd(status, code);
  }

  #onEnd(status: number | null, code?: string): void {
    const fault = toVideoFault(status, code);
    if (fault !== null) return this.#fail(fault);
    // The owner may have stopped it: the event arrives after the end.
    this.#noteProgress();
    this.#release();
    if (this.#retries >= maxRetries) return this.#fail('lost');
    this.#retries += 1;
    this.#setState({ kind: 'retrying', attempt: this.#retries });
    this.#retryTimer = setTimeout(() => void this.#open(), retryDelayMs);
  }

  /** The stream may end before the next check of its progress, and releasing the element resets its time. */
  #noteProgress(): void {
    if (this.#video.currentTime !== this.#lastTime) this.#hasPlayed = true;
  }

  #checkProgress(): void {
    const nowMs = Date.now();
    if (this.#video.currentTime !== this.#lastTime) {
      this.#lastTime = this.#video.currentTime;
      this.#lastProgressMs = nowMs;
      this.#retries = 0;
      this.#hasPlayed = true;
      if (this.#state?.kind !== 'playing') this.#setState({ kind: 'playing' });
    } else if (nowMs - this.#lastProgressMs > stallMs && this.#state?.kind === 'playing') {
      this.#setState({ kind: 'stalled' });
    }
  }

  #fail(fault: VideoFault): void {
    this.stop();
    this.#setState({ kind: 'failed', fault });
  }

  #release(): void {
    this.#run += 1;
    clearInterval(this.#watch);
    clearTimeout(this.#retryTimer);
    this.#player?.destroy();
    this.#player = null;
    this.#video.onerror = null;
    this.#video.onended = null;
    if (this.#video.hasAttribute('src')) {
      this.#video.removeAttribute('src');
      this.#video.load();
    }
  }

  #setState(state: GuestVideoState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}

const canPlayHls = (video: HTMLVideoElement): boolean => video.canPlayType('application/vnd.apple.mpegurl') !== '';

/** Returns the code of a refused stream; undefined if it is not refused any more. */
async function readErrorCode(url: string): Promise<string | undefined> {
  const request = new AbortController();
  try {
    const response = await fetch(url, { signal: request.signal });
    return response.ok ? undefined : ((await response.json()) as { code?: string }).code;
  } catch {
    // The status alone decides.
    return undefined;
  } finally {
    request.abort();
  }
}
