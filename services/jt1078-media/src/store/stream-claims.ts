import { randomUUID } from 'node:crypto';
import type { Logger } from '@fleet/service-kit';
import {
  acknowledgeStream,
  cancelStreamRequest,
  claimStream,
  completeMove,
  type HlsContinuation,
  handOverStream,
  type MovingStream,
  popOrphanedStreams,
  popTimedOutStreams,
  type Redis,
  readStream,
  releaseStream,
  renewStreamClaim,
  type StreamClaim,
  type StreamId,
  takeMovingStreams,
} from '@fleet/storage';

/** Time that a camera waits for admission while Redis is unavailable. */
const claimTimeoutMs = 15_000;
const claimRetryMs = 200;

/** Stores the claims of this pod in Redis. An outage never ends a stream: it only prevents new ones from beginning. */
export class StreamClaims {
  readonly #redis: Redis;
  readonly #owner: { podId: string; url: string };
  readonly #acceptUnsolicited: boolean;
  readonly #onRestored: (id: StreamId) => void;
  readonly #log: Logger;
  #isRedisUnavailable = false;

  constructor(options: {
    redis: Redis;
    owner: { podId: string; url: string };
    acceptUnsolicited: boolean;
    /** Called when a lost claim was restored, as other pods may have published the end of the stream. */
    onRestored: (id: StreamId) => void;
    log: Logger;
  }) {
    this.#redis = options.redis;
    this.#owner = options.owner;
    this.#acceptUnsolicited = options.acceptUnsolicited;
    this.#onRestored = options.onRestored;
    this.#log = options.log;
  }

  /**
   * Claims a stream for its camera's connection. Returns null when the stream was not requested, or when Redis stays
   * unavailable.
   */
  async claim(id: StreamId): Promise<StreamClaim | null> {
    const deadlineMs = performance.now() + claimTimeoutMs;
    for (;;) {
      try {
        const claimed = await claimStream(this.#redis, id, this.#owner, { acceptUnsolicited: this.#acceptUnsolicited });
        return claimed?.claim ?? null;
      } catch (error) {
        this.#onRedisFailure(error);
        if (performance.now() >= deadlineMs) return null;
        await new Promise((resolve) => {
          setTimeout(resolve, claimRetryMs);
        });
      }
    }
  }

  /** Renews a claim. Returns false only when another pod is known to have taken it over. */
  async renew(id: StreamId, claim: StreamClaim): Promise<boolean> {
    try {
      const result = await renewStreamClaim(this.#redis, id, claim);
      this.#isRedisUnavailable = false;
      if (result === 'restored') this.#onRestored(id);
      return result !== 'lost';
    } catch (error) {
      this.#onRedisFailure(error);
      return true;
    }
  }

  /** Releases a claim. If that fails, it expires by itself. */
  async release(id: StreamId, claim: StreamClaim): Promise<void> {
    try {
      await releaseStream(this.#redis, id, claim.generation);
    } catch (error) {
      this.#onRedisFailure(error);
    }
  }

  /** Replaces a claim by a request for another pod. Returns false if Redis is unavailable or another pod has the stream. */
  async handOver(id: StreamId, claim: StreamClaim, hls: HlsContinuation | null): Promise<boolean> {
    if (claim.request === null) return false;
    const move = { fromPodId: claim.podId, ...(hls === null ? {} : { hls }) };
    try {
      return await handOverStream(this.#redis, id, claim, {
        ...claim.request,
        requestId: randomUUID(),
        status: 'acknowledged',
        requestedAtMs: Date.now(),
        move,
      });
    } catch (error) {
      this.#onRedisFailure(error);
      return false;
    }
  }

  /** Returns streams of stopping pods whose cameras have to be commanded; each is returned to one pod. */
  async takeMoving(): Promise<MovingStream[]> {
    try {
      return await takeMovingStreams(this.#redis);
    } catch (error) {
      this.#onRedisFailure(error);
      return [];
    }
  }

  /** Records that the camera of a moving stream will connect. */
  async acknowledgeMove({ id, request }: MovingStream): Promise<void> {
    try {
      await acknowledgeStream(this.#redis, id, request.requestId);
      await completeMove(this.#redis, id);
    } catch (error) {
      // The stream has its time limit already.
      this.#onRedisFailure(error);
    }
  }

  /** Ends a move that the camera refused. Returns false if the stream runs, or is requested again. */
  async cancelMove({ id, request }: MovingStream): Promise<boolean> {
    try {
      await completeMove(this.#redis, id);
      return await cancelStreamRequest(this.#redis, id, request.requestId);
    } catch (error) {
      this.#onRedisFailure(error);
      return false;
    }
  }

  /** Returns true when a camera was requested to send this stream to this media tier and has not connected yet. */
  async isExpected(id: StreamId): Promise<boolean> {
    const { claim, request } = await readStream(this.#redis, id);
    return claim === null && request !== null && !request.isForeign;
  }

  /** Returns streams whose camera acknowledged the request but did not connect in time; each is returned to one pod. */
  async popTimedOut(): Promise<StreamId[]> {
    try {
      return await popTimedOutStreams(this.#redis);
    } catch (error) {
      this.#onRedisFailure(error);
      return [];
    }
  }

  /** Returns streams of crashed pods; each is returned to one pod. */
  async popOrphaned(): Promise<StreamId[]> {
    try {
      return await popOrphanedStreams(this.#redis);
    } catch (error) {
      this.#onRedisFailure(error);
      return [];
    }
  }

  #onRedisFailure(error: unknown): void {
    if (!this.#isRedisUnavailable)
      this.#log.warn({ err: error }, 'Redis does not respond: running streams continue, new ones wait');
    this.#isRedisUnavailable = true;
  }
}
