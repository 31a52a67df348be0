import { ApiFailure, type PlatformClient } from '@fleet/api-client';
import type { Decoder, DecoderBudget, FrameCount } from './decoder-budget.ts';
import { canDecodeH265, canPlayFlv, FlvPlayer } from './flv-player.ts';
import type { StartQueue } from './start-queue.ts';
import { type ParkReason, readFailure, type Stream, type StreamType, type VideoState } from './video-state.ts';

const stallMs = 4_000;
const checkIntervalMs = 1_000;
const maxRetries = 5;
const retryDelayMs = 2_000;

interface SessionOptions {
  readonly api: PlatformClient;
  readonly vehicleId: number;
  readonly channelId: number;
  readonly streamType: StreamType;
  /** Shared by all tiles. */
  readonly queue: StartQueue;
  readonly budget: DecoderBudget;
  readonly onState: (state: VideoState) => void;
  readonly onData?: (sizeBytes: number) => void;
}

/** Plays one camera in a video element: starts the stream, watches for stalls, reconnects, and rests. */
export class VideoSession implements Decoder {
  readonly #options: SessionOptions;
  readonly #video: HTMLVideoElement;
  readonly #closed = new AbortController();
  #start = new AbortController();
  #player: FlvPlayer | null = null;
  #retries = 0;
  #lastTime = 0;
  #lastProgressMs = 0;
  #state: VideoState = { kind: 'stopped' };
  #stream: Stream | null = null;
  #watch: ReturnType<typeof setInterval> | undefined;
  #retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(video: HTMLVideoElement, options: SessionOptions) {
    this.#video = video;
    this.#options = options;
  }

  get state(): VideoState {
    return this.#state;
  }

  /** Starts the stream and plays it muted. A start that the user wants may park another tile. Failures become states. */
  async start({ isWanted }: { readonly isWanted: boolean }): Promise<void> {
    if (!this.#options.budget.admit(this, { isWanted })) return this.#rest('budget');
    this.#start.abort();
    const start = new AbortController();
    this.#start = start;
    const onAhead = (ahead: number): void => {
      if (this.#retries === 0) this.#setState({ kind: 'queued', ahead });
    };
    const leave = await this.#options.queue.enter(this.#options.vehicleId, onAhead, start.signal);
    if (leave === null) return;
    try {
      await this.#request(start.signal);
    } finally {
      leave();
    }
  }

  /** Stops decoding, for lack of decoders or of somebody who watches. */
  park(reason: ParkReason = 'budget'): void {
    if (['parked', 'failed', 'ended', 'stopped'].includes(this.#state.kind)) return;
    this.#rest(reason);
  }

  countFrames(): FrameCount {
    const { totalVideoFrames: total, droppedVideoFrames: dropped } = this.#video.getVideoPlaybackQuality();
    return { total, dropped };
  }

  /** Handles a `stream` event of the camera: progress of the start, viewers, or the end by another user. */
  onStreamEvent(event: Stream): void {
    // The stream may end before the next check of its progress.
    if (event.status === 'stopped' && this.#player !== null) this.#checkProgress();
    const { kind } = this.#state;
    if (kind === 'starting' && event.phase !== null) this.#setState({ ...this.#state, phase: event.phase });
    if (event.status === 'stopped') {
      if (event.reason?.code === 'stopped' && ['playing', 'stalled', 'retrying'].includes(kind)) this.#endByUser();
      return;
    }
    if (this.#stream === null) return;
    const { stream_type, video_codec, audio_codec, viewers, width, height } = event;
    this.#stream = { ...this.#stream, stream_type, video_codec, audio_codec, viewers, width, height };
    if (kind === 'playing') this.#setState({ kind: 'playing', stream: this.#stream });
  }

  /** Stops the player and releases its connection. The camera stops without viewers. */
  close(): void {
    this.#closed.abort();
    this.#stop();
    this.#setState({ kind: 'stopped' });
  }

  async #request(signal: AbortSignal): Promise<void> {
    if (this.#retries === 0) this.#setState({ kind: 'starting', sinceMs: Date.now(), phase: null });
    const { api, vehicleId, channelId, streamType } = this.#options;
    try {
      const { data } = await api.POST('/api/vehicles/start-dashcam-stream/{vehicleId}', {
        params: { path: { vehicleId } },
        body: { channel_id: channelId, stream_type: streamType },
        signal,
      });
      if (signal.aborted) return;
      if (data === undefined) throw new Error('The server returned no stream.');
      this.#play(data.data);
    } catch (error) {
      if (signal.aborted) return;
      const code = error instanceof ApiFailure ? error.code : null;
      this.#fail(readFailure(error), error instanceof Error ? error.message : String(error), code);
    }
  }

  #play(stream: Stream): void {
    const isUndecodable = stream.video_codec === 'h265' && !canDecodeH265();
    if (!canPlayFlv() || isUndecodable) return this.#fail('unsupported', '');
    this.#stream = stream;
    this.#destroyPlayer();
    const { onData } = this.#options;
    this.#player = new FlvPlayer(this.#video, {
      url: stream.ws_flv_url ?? stream.stream_url,
      onEnd: () => this.#retry(),
      onUndecodable: (detail) => this.#fail('unsupported', detail),
      ...(onData === undefined ? {} : { onData }),
    });
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

  #retry(): void {
    if (this.#closed.signal.aborted) return;
    this.#destroyPlayer();
    if (this.#retries >= maxRetries) return this.#fail('lost', '');
    this.#retries += 1;
    this.#setState({ kind: 'retrying', attempt: this.#retries });
    this.#retryTimer = setTimeout(() => void this.start({ isWanted: false }), retryDelayMs);
  }

  #fail(reason: Parameters<typeof failed>[0], message: string, code: string | null = null): void {
    this.#stop();
    this.#setState(failed(reason, message, code));
  }

  #rest(reason: ParkReason): void {
    const picture = takePicture(this.#video);
    this.#stop();
    this.#setState({ kind: 'parked', reason, atMs: Date.now(), picture });
  }

  #endByUser(): void {
    const picture = takePicture(this.#video);
    this.#stop();
    this.#setState({ kind: 'ended', atMs: Date.now(), picture });
  }

  /** Ends everything that runs, and gives the decoder back. */
  #stop(): void {
    this.#start.abort();
    clearTimeout(this.#retryTimer);
    this.#destroyPlayer();
    this.#retries = 0;
    this.#options.budget.release(this);
  }

  #destroyPlayer(): void {
    clearInterval(this.#watch);
    const player = this.#player;
    this.#player = null;
    player?.destroy();
  }

  #setState(state: VideoState): void {
    this.#state = state;
    this.#options.onState(state);
  }
}

const failed = (
  reason: Extract<VideoState, { kind: 'failed' }>['reason'],
  message: string,
  code: string | null,
): VideoState => ({ kind: 'failed', reason, message, code });

/** Returns the current picture as the address of a JPEG; null before the first one. */
function takePicture(video: HTMLVideoElement): string | null {
  if (video.videoWidth === 0) return null;
  const canvas = document.createElement('canvas');
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext('2d')?.drawImage(video, 0, 0);
  return canvas.toDataURL('image/jpeg', 0.8);
}
